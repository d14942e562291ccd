#pragma once

#include "same_elements.cuh"

// Reshape: the same elements in another shape.
using Reshape_node = SameElements;

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T Reshape(const Reshape_node&, int64_t i, const T* x, const Constants*...) {
  return x[i];
}
#else
inline Reshape_node Reshape_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& shape) {
  *y = kw::Shape();
  int open = -1;
  const int64_t rank = shape.data != nullptr ? shape.shape.count() : 0;
  for (int i = 0; i < rank; ++i) {
    int64_t length = shape.integer(i);
    if (length == 0 && node.integer("allowzero") == 0) length = x.shape[i];
    if (length < 0) open = i;
    y->push(length < 0 ? 1 : length);
  }
  if (open >= 0 && y->count() > 0) (*y)[open] = x.shape.count() / y->count();
  return {};
}
#endif
