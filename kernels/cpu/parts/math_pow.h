#pragma once

#include <kernelwright.h>

#include "math_exp.h"
#include "math_log.h"

// Powers in vectors, to float32's precision, zeros, infinities and negative bases as in the C library: through a
// logarithm in double precision. bench/vector_math_bench.cpp measures the errors.

namespace simd {

using Doubles = Vector<double, kLanes / 2>;
using HalfFloats = Vector<float, kLanes / 2>;

inline Doubles half_of(Floats x, int which) {
#if defined(__aarch64__)
  if constexpr (kLanes == 4) {
    const auto four = float32x4_t(x);
    return Doubles(which == 0 ? vcvt_f64_f32(vget_low_f32(four)) : vcvt_high_f64_f32(four));
  }
#endif
  float lanes[kLanes];
  store(lanes, x);
  return __builtin_convertvector(load_as<HalfFloats>(lanes + which * kLanes / 2), Doubles);
}
inline Floats both_halves(Doubles first, Doubles second) {
#if defined(__aarch64__)
  if constexpr (kLanes == 4) {
    return Floats(vcvt_high_f32_f64(vcvt_f32_f64(float64x2_t(first)), float64x2_t(second)));
  }
#endif
  float lanes[kLanes];
  store(lanes, __builtin_convertvector(first, HalfFloats));
  store(lanes + kLanes / 2, __builtin_convertvector(second, HalfFloats));
  return load(lanes);
}

// log2(1 + f). The terms are gathered in pairs and fours, which do not wait for one another.
inline Doubles log2_of_sum(Doubles f) {
  const Doubles square = f * f;
  const Doubles fourth = square * square;
  const auto pair = [&](double even, double odd) { return odd * f + even; };
  const Doubles a = pair(0x1.71547652a1ebap+0, -0x1.7154765a9022ap-1);
  const Doubles b = pair(0x1.ec709eb4c1b11p-2, -0x1.715469dbd6303p-2);
  const Doubles c = pair(0x1.277653c6f1ee1p-2, -0x1.ec75bf7753c7ap-3);
  const Doubles d = pair(0x1.a64016d9b8fb8p-3, -0x1.70f8c31563be0p-3);
  const Doubles e = pair(0x1.44f0a87e4f346p-3, -0x1.28353e0f3ddfbp-3);
  const Doubles g = pair(0x1.2c29226f595b8p-3, -0x1.189da7730c63bp-3);
  const Doubles first = b * square + a;
  const Doubles second = d * square + c;
  const Doubles third = g * square + e;
  const Doubles last = 0x1.1662cfdefece3p-4 * fourth + third;
  return ((last * fourth + second) * fourth + first) * f;
}

// The whole number nearest to y * log2(x), and the rest.
struct Exponent {
  Doubles whole, rest;
};
inline Exponent exponent_of_power(Doubles m, Doubles n, Doubles y) {
  constexpr double kShift = 0x1.8p52;
  Doubles exponent = y * (n + log2_of_sum(m - 1));
  exponent = exponent > 200 ? Doubles{} + 200 : exponent;  // NaN passes
  exponent = exponent < -200 ? Doubles{} - 200 : exponent;
  const Doubles whole = (exponent + kShift) - kShift;
  return {whole, exponent - whole};
}

// x^y for x > 0.
inline Floats pow_of_positive(Floats x, Floats y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Ints subnormal = x < 0x1p-126f;
  const LogParts parts = log_parts(subnormal ? x * 0x1p23f : x);
  Floats n = converted(parts.n + (subnormal & -23));
  n = x == 0 ? splat(-kInfinity) : x < kInfinity ? n : x;  // infinity and NaN too
  const Exponent first = exponent_of_power(half_of(parts.m, 0), half_of(n, 0), half_of(y, 0));
  const Exponent second = exponent_of_power(half_of(parts.m, 1), half_of(n, 1), half_of(y, 1));
  const Floats rest = both_halves(first.rest, second.rest);
  Floats less_one = fma(rest, 0x1.4bc098p-13f, 0x1.5fc0b2p-10f);
  less_one = fma(less_one, rest, 0x1.3b21c2p-7f);
  less_one = fma(less_one, rest, 0x1.c6ada6p-5f);
  less_one = fma(less_one, rest, 0x1.ebfbe6p-3f);
  less_one = fma(less_one, rest, 0x1.62e432p-1f);
  return times_power_of_two(fma(less_one, rest, 1.0f), truncated(both_halves(first.whole, second.whole)));
}

inline Floats pow(Floats x, Floats y) {
  const Floats magnitude = abs(x);
  Floats result = pow_of_positive(magnitude, y);
  if (any((bits_of(x) < 0) | (magnitude == 1) | (y == 0))) [[unlikely]] {
    result = ((magnitude == 1) & (y == y)) ? splat(1.0f) : result;
    const Ints is_whole = to_whole<Whole::down>(y) == y;
    const Ints is_odd = is_whole & (to_whole<Whole::down>(0.5f * y) != 0.5f * y);
    const Floats negated = is_odd ? -result : result;
    const Ints undefined = (x < 0) & ~is_whole & (x > -std::numeric_limits<float>::infinity());
    const Floats of_negative = undefined ? splat(std::numeric_limits<float>::quiet_NaN()) : negated;
    result = bits_of(x) < 0 ? of_negative : result;
    result = ((x == 1) | (y == 0)) ? splat(1.0f) : result;
  }
  return result;
}

}  // namespace simd
