#pragma once

#include "reduction.cuh"

// ReduceMean: the mean of the elements along the axes.
using ReduceMean_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceMean(const ReduceMean_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { sum += value; });
  return T(sum / Wide<T>(of.count));
}
#else
inline ReduceMean_node ReduceMean_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
