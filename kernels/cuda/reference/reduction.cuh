#pragma once

#include "../plain/reduction.cuh"
#include "block.cuh"

#ifdef __CUDACC__
// f(element) for all elements of a reduction, by all threads.
template <class T, class F>
__device__ void each_reduced_by_all(const Reduction& of, int64_t row, const T* x, F f) {
  const T* from = x + of.kept.at(row);
  if (of.reduced.rank == 1) {
    const int64_t stride = of.reduced.strides[0];
    for (int64_t k = threadIdx.x; k < of.count; k += BLOCK) f(double(from[k * stride]));
    return;
  }
  for (int64_t k = threadIdx.x; k < of.count; k += BLOCK) f(double(from[of.reduced.at(k)]));
}
template <class T, class F>
__device__ double reduced_sum(const Reduction& of, int64_t row, const T* x, F f) {
  double sum = 0;
  each_reduced_by_all(of, row, x, [&](double value) { sum += f(value); });
  return summed(sum);
}
#endif
