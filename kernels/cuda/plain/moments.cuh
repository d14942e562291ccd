#pragma once

#include "common.cuh"

#ifdef __CUDACC__
// Mean and variance of `count` elements in a row.
struct Moments {
  double mean, variance;
};
template <class T>
__device__ Moments moments_of(const T* x, int64_t count) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += double(x[k]);
  const double mean = sum / double(count);
  double squares = 0;
  for (int64_t k = 0; k < count; ++k) squares += (double(x[k]) - mean) * (double(x[k]) - mean);
  return {mean, squares / double(count)};
}
#endif
