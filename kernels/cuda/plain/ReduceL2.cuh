#pragma once

#include "reduction.cuh"

// ReduceL2: the root of the sum of the squares along the axes.
using ReduceL2_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceL2(const ReduceL2_node& of, int64_t i, const T* x, const Axes*...) {
  double sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += double(value) * double(value); });
  return T(sqrt(sum));
}
#else
inline ReduceL2_node ReduceL2_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
