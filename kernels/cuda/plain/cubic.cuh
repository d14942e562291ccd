#pragma once

#include "common.cuh"

#ifdef __CUDACC__
// The weight of an element at a distance in Keys' cubic convolution.
__device__ inline double cubic_weight(double distance, double a) {
  const double d = fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}
#endif
