#pragma once

#include <kernelwright.h>

#include "vector.h"

// Exponentials in vectors, to float32's precision over the whole range; infinities, NaN and subnormal results as in the
// C library. bench/vector_math_bench.cpp measures the errors.

namespace simd {

// The whole number nearest to x * times, |x * times| < 2^22: as a number, and plus kPlus in the low bits of `bits`,
// where a shift makes it an exponent.
struct NearestWhole {
  Floats number;
  Ints bits;
};
template <int kPlus = 0>
inline NearestWhole nearest_whole(Floats x, float times) {
  constexpr float kShift = 0x1.8p23f + kPlus;  // float's last bit is 1 here
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

inline constexpr float kLog2OfE = 0x1.715476p+0f;

// exp(x - n * log(2)) - 1, where the difference is below 0.35.
inline Floats exp_less_one(Floats x, Floats n) {
  const Floats r = fma(n, 0x1.05c61p-29f, fma(n, -0x1.62e43p-1f, x));
  Floats rest = fma(r, 0x1.6ac754p-10f, 0x1.123dep-7f);
  rest = fma(rest, r, 0x1.555858p-5f);
  rest = fma(rest, r, 0x1.55548cp-3f);
  rest = fma(rest, r, 0x1.fffffcp-2f);
  return fma(rest, r * r, r);
}

// exp(x) = 2^n * (1 + less_one).
struct ExpParts {
  Ints n;
  Floats less_one;
};
inline ExpParts exp_parts(Floats x) {
  const NearestWhole n = nearest_whole(x, kLog2OfE);
  return {n.bits - 0x4b400000, exp_less_one(x, n.number)};
}

template <class V>
inline V exp(V x) {
  x = x > 89 ? splat(89.0f) : x;  // NaN passes
  x = x < -105 ? splat(-105.0f) : x;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    const V n = nearest_whole(x, kLog2OfE).number, scaled = exp_less_one(x, n) + 1;
    return V(_mm512_maskz_scalef_ps(kAll, __m512(scaled), __m512(n)));
  }
#endif
  const ExpParts parts = exp_parts(x);
  return times_power_of_two(parts.less_one + 1, parts.n);
}

// exp(x) of x <= 0 or NaN, where what is below the normal numbers may be zero: 2^-127 has no exponent of its own, and
// comes out as zero by itself.
inline Floats exp_of_negative(Floats x) {
  constexpr float kLeast = -88;
  x = x < kLeast ? splat(kLeast) : x;
  const NearestWhole n = nearest_whole<127>(x, kLog2OfE);
  const Floats power = floats_of(n.bits << 23);
  return fma(power, exp_less_one(x, n.number), power);
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
