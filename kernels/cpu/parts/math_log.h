#pragma once

#include <kernelwright.h>

#include "vector.h"

// Logarithms in vectors, to float32's precision; infinities, NaN, zeros and subnormal numbers as in the C library.
// bench/vector_math_bench.cpp measures the errors.

namespace simd {

// x = m * 2^n with m from sqrt(1/2) to sqrt(2), for x > 0.
struct LogParts {
  Ints n;
  Floats m;
};
inline LogParts log_parts(Floats x) {
  constexpr int32_t kRootOfHalf = 0x3f3504f3;
  const Ints n = (bits_of(x) - kRootOfHalf) >> 23;
  return {n, floats_of(bits_of(x) - (n << 23))};
}
// log((1 + f) * 2^n).
inline Floats log_of_parts(Floats f, Ints n) {
  Floats tail = fma(f, 0x1.1d88ecp-4f, -0x1.e2f230p-4f);
  tail = fma(tail, f, 0x1.e626dcp-4f);
  tail = fma(tail, f, -0x1.fbb53ep-4f);
  tail = fma(tail, f, 0x1.233b6ep-3f);
  tail = fma(tail, f, -0x1.555b32p-3f);
  tail = fma(tail, f, 0x1.99a462p-3f);
  tail = fma(tail, f, -0x1.000018p-2f);
  tail = fma(tail, f, 0x1.555548p-2f);
  tail = fma(tail, f, -0.5f);
  const Floats whole = converted(n);
  const Floats square = f * f;
  tail = fma(whole, -0x1.05c61p-29f, tail * square);
  return fma(whole, 0x1.62e43p-1f, f + tail);
}

// 0 and what lies below it, infinity and NaN, for a logarithm of x.
inline Floats log_with_ends(Floats x, Floats result) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  result = x < kInfinity ? result : x;
  const Floats ends = x == 0 ? splat(-kInfinity) : splat(std::numeric_limits<float>::quiet_NaN());
  return x <= 0 ? ends : result;
}

inline Floats log(Floats x) {
  const Ints subnormal = x < 0x1p-126f;
  const LogParts parts = log_parts(subnormal ? x * 0x1p23f : x);
  return log_with_ends(x, log_of_parts(parts.m - 1, parts.n + (subnormal & -23)));
}

// x with 1 added, and what the rounding of that loses.
struct OneMore {
  Floats sum, rest;
};
inline OneMore one_more(Floats x) {
  const Floats sum = 1 + x;
  const Floats larger = x > 1 ? x : splat(1.0f);
  const Floats smaller = x > 1 ? splat(1.0f) : x;
  return {sum, smaller - (sum - larger)};
}
// log((sum + rest) * 2^more) for sum > 0, where rest is less than a last bit of sum.
inline Floats log_of_sum(Floats sum, Floats rest, Ints more) {
  const LogParts parts = log_parts(sum);
  const Floats scale = floats_of((127 - (parts.n > 126 ? splat(126) : parts.n)) << 23);
  return log_of_parts(fma(rest, scale, parts.m - 1), parts.n + more);
}

// log(1 + x), precise around 0 too.
inline Floats log1p(Floats x) {
  const OneMore one = one_more(x);
  const Floats result = log_with_ends(one.sum, log_of_sum(one.sum, one.rest, Ints{}));
  return x == 0 ? x : result;
}

}  // namespace simd
