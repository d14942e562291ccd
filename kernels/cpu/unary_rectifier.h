// Rectifiers and what else is made of straight lines, in vectors: as fast as memory.
//
// serves: Clip, HardSigmoid, HardSwish, LeakyRelu, Relu, Shrink, Softsign, ThresholdedRelu
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline Floats cut(Floats x, float low, float high) {  // NaN stays
  const Floats raised = x < low ? simd::splat(low) : x;
  return raised > high ? simd::splat(high) : raised;
}

inline void Clip(const kw::Node& node, Input x, Input min, Input max, Output& y) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const float low = min.given() ? min[0] : static_cast<float>(node.real("min", -kMost));
  const float high = max.given() ? max[0] : static_cast<float>(node.real("max", kMost));
  simd::map(node, x, y, [=](Floats v) { return cut(v, low, high); });
}
inline void HardSigmoid(const kw::Node& node, Input x, Output& y) {
  const Floats alpha = simd::splat(static_cast<float>(node.real("alpha")));
  const Floats beta = simd::splat(static_cast<float>(node.real("beta")));
  simd::map(node, x, y, [=](Floats v) { return cut(simd::fma(alpha, v, beta), 0, 1); });
}
inline void HardSwish(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return v * cut(simd::fma(v, 1.0f / 6, 0.5f), 0, 1); });
}
inline void LeakyRelu(const kw::Node& node, Input x, Output& y) {
  const float alpha = static_cast<float>(node.real("alpha"));
  simd::map(node, x, y, [=](Floats v) { return v < 0 ? alpha * v : v; });
}
inline void Relu(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return v < 0 ? simd::splat(0.0f) : v; });  // NaN stays
}
inline void Shrink(const kw::Node& node, Input x, Output& y) {
  const float bias = static_cast<float>(node.real("bias"));
  const float lambd = static_cast<float>(node.real("lambd"));
  simd::map(node, x, y, [=](Floats v) { return v < -lambd ? v + bias : v > lambd ? v - bias : simd::splat(0.0f); });
}
inline void Softsign(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return v / (1 + simd::abs(v)); });
}
inline void ThresholdedRelu(const kw::Node& node, Input x, Output& y) {
  const float alpha = static_cast<float>(node.real("alpha"));
  simd::map(node, x, y, [=](Floats v) { return v > alpha ? v : simd::splat(0.0f); });
}
