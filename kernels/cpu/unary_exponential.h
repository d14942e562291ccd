// Exponentials, hyperbolic functions and the activations made of them, in vectors.
//
// serves: Celu, Cosh, Elu, Exp, Mish, Selu, Sigmoid, Sinh, Softplus, Swish, Tanh
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"
#include "parts/math_hyperbolic.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline void Exp(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::exp(v); });
}
inline void Sinh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::sinh(v); });
}
inline void Cosh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::cosh(v); });
}
inline void Tanh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::tanh(v); });
}
inline void Sigmoid(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::sigmoid(v); });
}
inline void Swish(const kw::Node& node, Input x, Output& y) {
  const float alpha = static_cast<float>(node.real("alpha"));
  simd::map(node, x, y, [=](Floats v) { return v * simd::sigmoid(alpha * v); });
}

// Where x > 0 scale * x, elsewhere below * (exp(x * inner) - 1).
inline void exponential_unit(const kw::Node& node, Input x, Output& y, float scale, float below, float inner) {
  simd::map(node, x, y, [=](Floats v) { return v > 0 ? scale * v : below * simd::expm1_of_negative(v * inner); });
}
inline void Celu(const kw::Node& node, Input x, Output& y) {
  const float alpha = static_cast<float>(node.real("alpha"));
  simd::map(node, x, y, [=](Floats v) { return v > 0 ? v : alpha * simd::expm1_of_negative(v / alpha); });
}
inline void Elu(const kw::Node& node, Input x, Output& y) {
  exponential_unit(node, x, y, 1, static_cast<float>(node.real("alpha")), 1);
}
inline void Selu(const kw::Node& node, Input x, Output& y) {
  const double gamma = node.real("gamma");
  exponential_unit(node, x, y, static_cast<float>(gamma), static_cast<float>(gamma * node.real("alpha")), 1);
}

// tanh(log(1 + e)) is (e * e + 2 * e) / (e * e + 2 * e + 2).
inline void Mish(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) {
    const Floats e = simd::exp(v > 20 ? simd::splat(20.0f) : v);
    const Floats above = simd::fma(e, e, e + e);
    return v * (above / (above + 2));
  });
}

// max(x, 0) + log(1 + e) with e = exp(-|x|) from 0 to 1, where one polynomial does.
inline void Softplus(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) {
    const Floats e = simd::exp_of_negative(-simd::abs(v));
    Floats tail = simd::fma(e, 0x1.1139b4p-9f, -0x1.c0a610p-7f);
    tail = simd::fma(tail, e, 0x1.590130p-5f);
    tail = simd::fma(tail, e, -0x1.54f25ep-4f);
    tail = simd::fma(tail, e, 0x1.ff295ap-4f);
    tail = simd::fma(tail, e, -0x1.4a72c4p-3f);
    tail = simd::fma(tail, e, 0x1.978b56p-3f);
    tail = simd::fma(tail, e, -0x1.ffc59ep-3f);
    tail = simd::fma(tail, e, 0x1.5553b6p-2f);
    tail = simd::fma(tail, e, -0x1.fffff8p-2f);
    return simd::fma(tail * e, e, e) + (v < 0 ? simd::splat(0.0f) : v);
  });
}
