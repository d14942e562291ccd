#pragma once

#include "reduction.cuh"

// ReduceSumSquare: the sum of the squares along the axes.
using ReduceSumSquare_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceSumSquare(const ReduceSumSquare_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += value * value; });
  return T(sum);
}
#else
inline ReduceSumSquare_node ReduceSumSquare_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
