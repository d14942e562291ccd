#pragma once

#include <kernelwright.h>

#include "vector.h"

// The transforms of Winograd's minimal filtering F(4, 3), along one axis of tiles of six inputs and four outputs.

namespace winograd {

inline constexpr int kOut = 4, kIn = 6;  // along an axis, of one tile

// They evaluate polynomials at 0, +-kNear, +-kFar and infinity; with these points
// the errors are a quarter of those with the usual 1 and 2.

inline constexpr float kNear = 0.75f, kFar = 1.5f;
inline constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;

template <class V>
[[gnu::always_inline]] inline void transform_input(const V* d, int step, V* to) {
  const V d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
  const V near_even = d4 - kFar2 * d2, near_odd = d3 - kFar2 * d1;
  const V far_even = d4 - kNear2 * d2, far_odd = d3 - kNear2 * d1;
  to[0] = far_even + kFar2 * (kNear2 * d[0] - d2);
  to[1] = near_even + kNear * near_odd;
  to[2] = near_even - kNear * near_odd;
  to[3] = far_even + kFar * far_odd;
  to[4] = far_even - kFar * far_odd;
  to[5] = d[5 * step] - kNear2 * d3 - kFar2 * far_odd;
}
template <class V>
[[gnu::always_inline]] inline void transform_output(const V* m, int step, V* to) {
  const V m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step];
  const V near_even = m1 + m2, near_odd = kNear * (m1 - m2), far_even = m3 + m4, far_odd = kFar * (m3 - m4);
  to[0] = (m[0] + near_even) + far_even;
  to[1] = near_odd + far_odd;
  to[2] = kNear2 * near_even + kFar2 * far_even;
  to[3] = (m[5 * step] + kNear2 * near_odd) + kFar2 * far_odd;
}
inline void transform_kernel(const double* g, int64_t step, double* to) {
  const double g0 = g[0], g1 = g[step], g2 = g[2 * step];
  constexpr double kNearScale = 1 / (2.0 * kNear2 * (kNear2 - kFar2)), kFarScale = 1 / (2.0 * kFar2 * (kFar2 - kNear2));
  to[0] = g0 / (kNear2 * kFar2);
  to[1] = (g0 + kNear * g1 + kNear2 * g2) * kNearScale;
  to[2] = (g0 - kNear * g1 + kNear2 * g2) * kNearScale;
  to[3] = (g0 + kFar * g1 + kFar2 * g2) * kFarScale;
  to[4] = (g0 - kFar * g1 + kFar2 * g2) * kFarScale;
  to[5] = g2;
}

}  // namespace winograd
