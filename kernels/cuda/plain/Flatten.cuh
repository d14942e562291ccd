#pragma once

#include "same_elements.cuh"

// Flatten: the same elements in another shape.
using Flatten_node = SameElements;

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T Flatten(const Flatten_node&, int64_t i, const T* x, const Constants*...) {
  return x[i];
}
#else
inline Flatten_node Flatten_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  const int axis = from_front(node.integer("axis", 1), x.shape.rank);
  *y = {x.shape.count(0, axis), x.shape.count(axis, x.shape.rank)};
  return {};
}
#endif
