#pragma once

#include "common.cuh"

// Expand: the input repeated along axes of length 1 until it has a given shape.
using Expand_node = Strided;

#ifdef __CUDACC__
template <class T, class S>
__device__ T Expand(const Expand_node& of, int64_t i, const T* x, const S*) {
  return x[of.at(i)];
}
#else
inline Expand_node Expand_plan(const kw::Node&, kw::Shape* y, const Given& x, const Given& shape) {
  kw::Shape wanted;
  for (int64_t i = 0; shape.data != nullptr && i < shape.shape.count(); ++i) wanted.push(shape.integer(i));
  *y = broadcast(x.shape, wanted);
  return broadcast_to(x.shape, *y);
}
#endif
