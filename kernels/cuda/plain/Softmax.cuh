#pragma once

#include "along_axis.cuh"

// Softmax: the exponentials along an axis, divided by their sum.
using Softmax_node = AlongAxis;

#ifdef __CUDACC__
template <class T>
__device__ T Softmax(const Softmax_node& of, int64_t i, const T* x) {
  const T* row = x + of.first(i);
  return T(exp(double(x[i]) - largest_of(of, row)) / sum_of_exponentials(of, row));
}
#else
inline Softmax_node Softmax_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return softmax_axis(node, x.shape);
}
#endif
