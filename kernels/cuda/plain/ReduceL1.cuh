#pragma once

#include "reduction.cuh"

// ReduceL1: the sum of the magnitudes along the axes.
using ReduceL1_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceL1(const ReduceL1_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += value < 0 ? -value : value; });
  return T(sum);
}
#else
inline ReduceL1_node ReduceL1_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
