#pragma once

#include "along_axis.cuh"

// LogSoftmax: the logarithm of Softmax.
using LogSoftmax_node = AlongAxis;

#ifdef __CUDACC__
template <class T>
__device__ T LogSoftmax(const LogSoftmax_node& of, int64_t i, const T* x) {
  const T* row = x + of.first(i);
  return T(double(x[i]) - largest_of(of, row) - log(sum_of_exponentials(of, row)));
}
#else
inline LogSoftmax_node LogSoftmax_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return softmax_axis(node, x.shape);
}
#endif
