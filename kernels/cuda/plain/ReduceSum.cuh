#pragma once

#include "reduction.cuh"

// ReduceSum: the sum of the elements along the axes.
using ReduceSum_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceSum(const ReduceSum_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += value; });
  return T(sum);
}
#else
inline ReduceSum_node ReduceSum_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
