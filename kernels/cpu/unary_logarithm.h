// Logarithms and the inverse hyperbolic functions, in vectors.
//
// serves: Acosh, Asinh, Atanh, Log
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"
#include "parts/math_area.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline void Log(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::log(v); });
}
inline void Asinh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::asinh(v); });
}
inline void Acosh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::acosh(v); });
}
inline void Atanh(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::atanh(v); });
}
