#pragma once

#include "../plain/ReduceLogSumExp.cuh"
#include "reduction.cuh"

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ void ReduceLogSumExp_block(const ReduceLogSumExp_node& of, int64_t row, T* y, const T* x, const Axes*...) {
  double largest = -infinity();
  each_reduced_by_all(of, row, x, [&](double value) { largest = fmax(largest, value); });
  largest = joined(largest, [](double a, double b) { return fmax(a, b); });
  const double result = largest + log(reduced_sum(of, row, x, [&](double value) { return exp(value - largest); }));
  if (threadIdx.x == 0) y[row] = T(result);
}
#else
inline int64_t ReduceLogSumExp_rows(const ReduceLogSumExp_node&, const kw::Shape* y) { return y[0].count(); }
#endif
