#pragma once

#include <kernelwright.h>

#include "math_exp.h"

// sinh, cosh and tanh in vectors, to float32's precision. bench/vector_math_bench.cpp measures the errors.

namespace simd {

// |x| = n * log(2) + r, exp(r) - 1 and 1 - exp(-r) from one polynomial each of odd and even powers, and half of
// 2^n / 2 and 2^-n / 2: no division, what is small stays precise, and 2^128 is in reach.
struct HyperbolicParts {
  Floats above, below;
  Floats up, down;
};
inline HyperbolicParts hyperbolic_parts(Floats x) {
  const Floats magnitude = abs(x);
  const Floats cut = magnitude > 89.5f ? splat(89.5f) : magnitude;
  const NearestWhole whole = nearest_whole(cut, kLog2OfE);
  const Floats r = fma(whole.number, 0x1.05c61p-29f, fma(whole.number, -0x1.62e43p-1f, cut));
  const Floats square = r * r;
  Floats odd = fma(fma(square, 0x1.a2e344p-13f, 0x1.110fbep-7f), square, 0x1.555556p-3f);
  odd = fma(odd * square, r, r);
  const Floats even = fma(fma(square, 0x1.6d4f1p-10f, 0x1.5554e6p-5f), square, 0.5f) * square;
  const Ints n = whole.bits - 0x4b400000;
  return {odd + even, odd - even, power_of_two(n - 2), power_of_two(-2 - (n > 60 ? splat(60) : n))};
}

inline Floats sinh(Floats x) {
  const HyperbolicParts parts = hyperbolic_parts(x);
  const Floats half = fma(parts.up, parts.above, fma(parts.down, parts.below, parts.up - parts.down));
  return abs(x) < 0x1p-100f ? x : with_sign(half + half, x);
}
inline Floats cosh(Floats x) {
  const HyperbolicParts parts = hyperbolic_parts(x);
  const Floats half = fma(parts.up, parts.above, fma(-parts.down, parts.below, parts.up + parts.down));
  return half + half;
}

// A quotient of polynomials up to 9, where tanh has become 1.
inline Floats tanh(Floats x) {
  const Floats cut = x > 9 ? splat(9.0f) : x < -9 ? splat(-9.0f) : x;
  const Floats square = cut * cut;
  Floats above = fma(square, -1.22567104e-11f, 3.06426777e-08f);
  above = fma(above, square, 2.80304339e-05f);
  above = fma(above, square, 0.00386946974f);
  above = fma(above, square, 0.136808231f);
  Floats below = fma(square, 1.28898239e-06f, 0.00039406438f);
  below = fma(below, square, 0.0272500087f);
  below = fma(below, square, 0.47014156f);
  below = fma(below, square, 1.0f);
  return fma(above * square, cut, cut) / below;
}

}  // namespace simd
