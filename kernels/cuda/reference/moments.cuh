#pragma once

#include "../plain/moments.cuh"
#include "block.cuh"

#ifdef __CUDACC__
// As moments_of, by all threads; `at(k)`: where element k lies.
template <class T, class At>
__device__ Moments moments_by_all(const T* x, int64_t count, At at) {
  const double mean = sum_of(count, [&](int64_t k) { return double(x[at(k)]); }) / double(count);
  const double squares = sum_of(count, [&](int64_t k) {
    const double from = double(x[at(k)]) - mean;
    return from * from;
  });
  return {mean, squares / double(count)};
}
template <class T>
__device__ Moments moments_by_all(const T* x, int64_t count) {
  return moments_by_all(x, count, [](int64_t k) { return k; });
}
#endif
