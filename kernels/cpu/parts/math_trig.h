#pragma once

#include <kernelwright.h>

#include "math_exp.h"

// Sine, cosine, tangent in vectors, to float32's precision for every argument: large ones go to the C library.
// bench/vector_math_bench.cpp measures the errors.

namespace simd {

inline constexpr float kLargestAngle = 0x1p17f;  // up to here three pieces of pi / 2 are enough

// x - n * pi / 2.
inline Floats less_quarters(Floats x, Floats n) {
  return fma(n, -0x1.84698ap-48f, fma(n, -0x1.4442d0p-24f, fma(n, -0x1.921fb4p+0f, x)));
}
// sin(r) of |r| <= pi / 2.
inline Floats sin_of_small(Floats r) {
  const Floats square = r * r;
  Floats tail = fma(square, -0x1.b623d8p-26f, 0x1.72cddap-19f);
  tail = fma(tail, square, -0x1.a023ccp-13f);
  tail = fma(tail, square, 0x1.111136p-7f);
  tail = fma(tail, square, -0x1.555556p-3f);
  return fma(tail * square, r, r);
}
// The result, but for lanes with large angles what f says. Apart from the loops, which would keep their constants in
// memory around a call; on aarch64, where a call leaves nothing in whole vectors, by the rules that spare them.
template <class F>
#if defined(__aarch64__)
[[gnu::aarch64_vector_pcs]]
#endif
[[gnu::noinline, gnu::cold]] Floats
of_large_angles(Floats x, Floats result, F f) {
  const Ints large = ~(abs(x) <= kLargestAngle);
  for (int i = 0; i < kLanes; ++i) {
    if (large[i] != 0) result[i] = f(x[i]);
  }
  return result;
}
template <class F>
inline Floats with_large_angles(Floats x, Floats result, F f) {
  if (any(~(abs(x) <= kLargestAngle))) [[unlikely]]
    return of_large_angles(x, result, f);
  return result;
}

inline Floats sin(Floats x) {
  const NearestWhole half_turns = nearest_whole(x, 0x1.45f306p-2f);
  const Floats r = less_quarters(x, half_turns.number + half_turns.number);
  const Floats result = floats_of(bits_of(sin_of_small(r)) ^ (half_turns.bits << 31));
  return with_large_angles(x, x == 0 ? x : result, [](float angle) { return std::sin(angle); });
}
inline Floats cos(Floats x) {
  // The angle from the middle between two zeros of the cosine, and from there on the zero below it.
  const NearestWhole half_turns = nearest_whole(abs(x) - 0x1.921fb6p+0f, 0x1.45f306p-2f);
  const Floats r = less_quarters(abs(x), fma(half_turns.number, 2.0f, 1.0f));
  const Floats result = floats_of(bits_of(sin_of_small(r)) ^ (~half_turns.bits << 31));
  return with_large_angles(x, result, [](float angle) { return std::cos(angle); });
}
inline Floats tan(Floats x) {
  const NearestWhole quarters = nearest_whole(x, 0x1.45f306p-1f);
  const Floats r = less_quarters(x, quarters.number);
  const Floats square = r * r;
  const Floats above = fma(fma(square, 0.0010752026f, -0.111361936f) * square, r, r);
  const Floats below = fma(fma(square, 0.0159735959f, -0.444695264f), square, 1.0f);
  const Ints odd = (quarters.bits << 31) != 0;
  const Floats result = (odd ? -below : above) / (odd ? above : below);
  return with_large_angles(x, x == 0 ? x : result, [](float angle) { return std::tan(angle); });
}

}  // namespace simd
