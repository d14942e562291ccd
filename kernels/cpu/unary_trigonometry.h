// Sine, cosine, tangent and their inverses, in vectors; angles too large for that go to the C library one by one.
//
// serves: Acos, Asin, Atan, Cos, Sin, Tan
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"
#include "parts/math_arc.h"
#include "parts/math_trig.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline void Sin(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::sin(v); });
}
inline void Cos(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::cos(v); });
}
inline void Tan(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::tan(v); });
}
inline void Asin(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::asin(v); });
}
inline void Acos(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::acos(v); });
}
inline void Atan(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::atan(v); });
}
