#pragma once

#include "reduction.cuh"

// ReduceLogSumExp: the logarithm of the sum of the exponentials along the axes.
using ReduceLogSumExp_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceLogSumExp(const ReduceLogSumExp_node& of, int64_t i, const T* x, const Axes*...) {
  double largest = -infinity(), sum = 0;
  each_reduced(of, i, x, [&](Wide<T> value) { largest = fmax(largest, double(value)); });
  if (isinf(largest)) return T(largest);
  each_reduced(of, i, x, [&](Wide<T> value) { sum += exp(double(value) - largest); });
  return T(largest + log(sum));
}
#else
inline ReduceLogSumExp_node ReduceLogSumExp_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
