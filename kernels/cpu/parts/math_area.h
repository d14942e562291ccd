#pragma once

#include <kernelwright.h>

#include "math_log.h"

// asinh, acosh and atanh in vectors, to float32's precision. bench/vector_math_bench.cpp measures the errors.

namespace simd {

// log(1 + y), or where y was too large to compute, log(2 * x).
inline Floats log1p_or_of_twice(Floats y, Floats x, Ints large) {
  const OneMore one = one_more(y);
  const Floats result = log_of_sum(large ? x : one.sum, large ? splat(0.0f) : one.rest, large & 1);
  return x < std::numeric_limits<float>::infinity() ? result : x;
}

inline Floats asinh(Floats x) {
  const Floats magnitude = abs(x);
  const Floats square = x * x;
  const Floats y = magnitude + square / (1 + sqrt(1 + square));
  return with_sign(log1p_or_of_twice(y, magnitude, magnitude > 0x1p24f), x);
}
inline Floats acosh(Floats x) {
  const Floats above = x - 1;
  const Floats y = above + sqrt(fma(above, above, above + above));
  const Floats result = log1p_or_of_twice(y, x, x > 0x1p24f);
  return x < 1 ? splat(std::numeric_limits<float>::quiet_NaN()) : result;
}
inline Floats atanh(Floats x) {
  const Floats magnitude = abs(x);
  const Floats y = (magnitude + magnitude) / (1 - magnitude);
  return with_sign(0.5f * log1p(y), x);
}

}  // namespace simd
