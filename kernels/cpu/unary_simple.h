// Magnitudes, signs, roundings, roots and inverses in vectors: as fast as memory.
//
// serves: Abs, Ceil, Floor, Neg, Reciprocal, Round, Sign, Sqrt
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline void Abs(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::abs(v); });
}
inline void Ceil(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::to_whole<simd::Whole::up>(v); });
}
inline void Floor(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::to_whole<simd::Whole::down>(v); });
}
inline void Neg(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return -v; });
}
inline void Reciprocal(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return 1 / v; });
}
inline void Round(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::to_whole<simd::Whole::nearest>(v); });
}
inline void Sign(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::converted((v < 0) - (v > 0)); });  // what holds is -1
}
inline void Sqrt(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::sqrt(v); });
}
