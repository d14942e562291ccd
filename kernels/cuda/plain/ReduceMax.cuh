#pragma once

#include "reduction.cuh"

// ReduceMax: the largest element along the axes.
using ReduceMax_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceMax(const ReduceMax_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> largest = lowest<T>();
  each_reduced(of, i, x, [&](Wide<T> value) { largest = value > largest ? value : largest; });
  return T(largest);
}
#else
inline ReduceMax_node ReduceMax_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
