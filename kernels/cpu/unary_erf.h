// The error function, and Gelu through it or through tanh, in vectors.
//
// serves: Erf, Gelu
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/map.h"
#include "parts/math_erf.h"
#include "parts/math_hyperbolic.h"

using simd::Floats;
using Input = kw::Tensor<const float>;
using Output = kw::Tensor<float>;

inline void Erf(const kw::Node& node, Input x, Output& y) {
  simd::map(node, x, y, [](Floats v) { return simd::erf(v); });
}
inline void Gelu(const kw::Node& node, Input x, Output& y) {
  if (node.is("approximate", "tanh")) {
    simd::map(node, x, y, [](Floats v) {
      const Floats inner = 0.797884561f * simd::fma(0.044715f * v * v, v, v);
      const Floats half = 0.5f * v;
      return simd::fma(half, simd::tanh(inner), half);
    });
  } else {
    simd::map(node, x, y, [](Floats v) {
      const Floats half = 0.5f * v;
      return simd::fma(half, simd::erf(0.707106781f * v), half);
    });
  }
}
