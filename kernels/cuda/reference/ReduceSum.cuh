#pragma once

#include "../plain/ReduceSum.cuh"
#include "reduction.cuh"

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ void ReduceSum_block(const ReduceSum_node& of, int64_t row, T* y, const T* x, const Axes*...) {
  const double result = reduced_sum(of, row, x, [](double value) { return value; });
  if (threadIdx.x == 0) y[row] = T(result);
}
#else
inline int64_t ReduceSum_rows(const ReduceSum_node&, const kw::Shape* y) { return y[0].count(); }
#endif
