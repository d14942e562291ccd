#pragma once

#include "reduction.cuh"

// ReduceMin: the smallest element along the axes.
using ReduceMin_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceMin(const ReduceMin_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> smallest = highest<T>();
  each_reduced(of, i, x, [&](Wide<T> value) { smallest = value < smallest ? value : smallest; });
  return T(smallest);
}
#else
inline ReduceMin_node ReduceMin_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
