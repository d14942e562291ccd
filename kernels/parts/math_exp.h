#pragma once

#include "vector.h"

// Exponentials in vectors, to float32's precision over the whole range; infinities, NaN and subnormal results as in the
// C library. bench/vector_math_bench.cpp measures the errors.

namespace simd {

// The whole number nearest to x, |x| < 2^22: as a number, and in the low bits of `bits`, where a shift makes it an
// exponent.
struct NearestWhole {
  Floats number;
  Ints bits;
};
inline NearestWhole nearest_whole(Floats x, float times) {
  constexpr float kShift = 0x1.8p23f;  // float's last bit is 1 here
  const Floats shifted = fma(x, times, kShift);
  return {shifted - kShift, bits_of(shifted)};
}
// 2 to the power of n, -126 <= n <= 127.
inline Floats power_of_two(Ints n) { return floats_of((n + 127) << 23); }
// x * 2^n, |n| < 252: in two steps, to infinity and to the subnormal numbers.
inline Floats times_power_of_two(Floats x, Ints n) {
  const Ints half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
}

// x = n * log(2) + r with |r| < 0.35, and exp(r) - 1.
struct ExpParts {
  Ints n;
  Floats r;
  Floats less_one;
};
inline ExpParts exp_parts(Floats x) {
  const NearestWhole n = nearest_whole(x, 0x1.715476p+0f);
  const Floats r = fma(n.number, 0x1.05c61p-29f, fma(n.number, -0x1.62e43p-1f, x));
  Floats rest = fma(r, 0x1.6ac754p-10f, 0x1.123dep-7f);
  rest = fma(rest, r, 0x1.555858p-5f);
  rest = fma(rest, r, 0x1.55548cp-3f);
  rest = fma(rest, r, 0x1.fffffcp-2f);
  return {n.bits - 0x4b400000, r, fma(rest, r * r, r)};
}

inline Floats exp(Floats x) {
  x = x > 89 ? splat(89.0f) : x;  // NaN passes
  x = x < -105 ? splat(-105.0f) : x;
  const ExpParts parts = exp_parts(x);
  return times_power_of_two(parts.less_one + 1, parts.n);
}

// exp(x) of x <= 0 or NaN, where what is below the normal numbers may be zero.
inline Floats exp_of_negative(Floats x) {
  constexpr float kLeast = -87.33f;
  const ExpParts parts = exp_parts(x < kLeast ? splat(kLeast) : x);
  const Floats power = power_of_two(parts.n);
  return x < kLeast ? splat(0.0f) : fma(power, parts.less_one, power);
}

// exp(x) - 1, precise around 0 too.
inline Floats expm1(Floats x) {
  Floats cut = x > 89 ? splat(89.0f) : x;
  cut = cut < -18 ? splat(-18.0f) : cut;
  const ExpParts parts = exp_parts(cut);
  const Floats half = power_of_two(parts.n - 1);  // 2^128 is no float
  const Floats result = fma(half, parts.less_one, half - 0.5f);
  return x == 0 ? x : result + result;
}
// The same of x <= 0 or NaN.
inline Floats expm1_of_negative(Floats x) {
  const ExpParts parts = exp_parts(x < -18 ? splat(-18.0f) : x);
  const Floats power = power_of_two(parts.n);
  return fma(power, parts.less_one, power - 1);
}

// 1 / (1 + exp(-x)).
inline Floats sigmoid(Floats x) {
  const Floats e = exp(-abs(x));
  return (x < 0 ? e : splat(1.0f)) / (1 + e);
}

}  // namespace simd
