#pragma once

#include "reduction.cuh"

// ReduceLogSum: the logarithm of the sum along the axes.
using ReduceLogSum_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceLogSum(const ReduceLogSum_node& of, int64_t i, const T* x, const Axes*...) {
  double sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += double(value); });
  return T(log(sum));
}
#else
inline ReduceLogSum_node ReduceLogSum_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
