#pragma once

#include <kernelwright.h>

#include "vector.h"

// Arc sine, cosine and tangent in vectors, to float32's precision. bench/vector_math_bench.cpp measures the errors.

namespace simd {

inline constexpr float kQuarterTurn = 0x1.921fb6p+0f;
inline constexpr float kQuarterTurnRest = -0x1.777a5cp-25f;

// asin(x) / x - 1, from x * x <= 1/4.
inline Floats asin_tail(Floats square) {
  Floats tail = fma(square, 0x1.344654p-5f, 0x1.d640e2p-7f);
  tail = fma(tail, square, 0x1.04c5e4p-5f);
  tail = fma(tail, square, 0x1.6ca816p-5f);
  tail = fma(tail, square, 0x1.3338acp-4f);
  tail = fma(tail, square, 0x1.55554cp-3f);
  return tail * square;
}

// Above 1/2 through the arc of the half chord: asin(x) = pi / 2 - 2 * asin(sqrt((1 - x) / 2)).
inline Floats asin(Floats x) {
  const Floats magnitude = abs(x);
  const Ints far = magnitude > 0.5f;
  const Floats square = far ? fma(magnitude, -0.5f, 0.5f) : x * x;
  const Floats root = far ? sqrt(square) : magnitude;
  const Floats arc = fma(asin_tail(square), root, root);
  return with_sign(far ? fma(arc, -2.0f, kQuarterTurnRest) + kQuarterTurn : arc, x);
}
inline Floats acos(Floats x) {
  const Floats magnitude = abs(x);
  const Ints far = magnitude > 0.5f;
  const Floats square = far ? fma(magnitude, -0.5f, 0.5f) : x * x;
  const Floats root = far ? sqrt(square) : x;
  const Floats arc = fma(asin_tail(square), root, root);
  const Floats near_result = kQuarterTurn - (arc - kQuarterTurnRest);
  const Floats twice = arc + arc;
  const Floats far_result = x < 0 ? 2 * kQuarterTurn - (twice - 2 * kQuarterTurnRest) : twice;
  return far ? far_result : near_result;
}

// Above 1 through the inverse: atan(x) = pi / 2 - atan(1 / x).
inline Floats atan(Floats x) {
  const Floats magnitude = abs(x);
  const Ints far = magnitude > 1;
  const Floats small = far ? 1 / magnitude : magnitude;
  const Floats square = small * small;
  Floats tail = fma(square, -0x1.d4c4a8p-10f, 0x1.64d75ep-7f);
  tail = fma(tail, square, -0x1.fe0c62p-6f);
  tail = fma(tail, square, 0x1.da6492p-5f);
  tail = fma(tail, square, -0x1.581624p-4f);
  tail = fma(tail, square, 0x1.c08f44p-4f);
  tail = fma(tail, square, -0x1.2420a8p-3f);
  tail = fma(tail, square, 0x1.9991e4p-3f);
  tail = fma(tail, square, -0x1.55553ep-2f);
  const Floats arc = fma(tail * square, small, small);
  return with_sign(far ? kQuarterTurn - (arc - kQuarterTurnRest) : arc, x);
}

}  // namespace simd
