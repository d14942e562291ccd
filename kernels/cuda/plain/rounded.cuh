#pragma once

#include "common.cuh"

#ifdef __CUDACC__
// The lowest and the highest number of an integer type of at most 32 bits.
template <class T>
__device__ double lowest_integer() {
  return T(-1) < T(0) ? -double(uint64_t(1) << (8 * sizeof(T) - 1)) : 0.0;
}
template <class T>
__device__ double highest_integer() {
  return double((uint64_t(1) << (8 * sizeof(T) - (T(-1) < T(0) ? 1 : 0))) - 1);
}
// Halves to even, cut to the range of the type.
template <class T>
__device__ T rounded(float value, float zero) {
  return T(fmin(fmax(double(rintf(value) + zero), lowest_integer<T>()), highest_integer<T>()));
}
#endif
