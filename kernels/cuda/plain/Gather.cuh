#pragma once

#include "along_axis.cuh"

// Gather: the slices of an axis that the indices name, in their shape; an index below zero counts from the end.
struct Gather_node {
  int64_t length, inner, indices;
};

#ifdef __CUDACC__
template <class T, class I>
__device__ T Gather(const Gather_node& of, int64_t i, const T* x, const I* indices) {
  const int64_t place = i / of.inner % of.indices, outer = i / of.inner / of.indices;
  const int64_t index = indices[place] < 0 ? int64_t(indices[place]) + of.length : int64_t(indices[place]);
  return x[(outer * of.length + index) * of.inner + i % of.inner];
}
#else
inline Gather_node Gather_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& indices) {
  const int axis = from_front(node.integer("axis"), x.shape.rank);
  *y = kw::Shape(axis, x.shape.dims);
  for (int i = 0; i < indices.shape.rank; ++i) y->push(indices.shape[i]);
  for (int i = axis + 1; i < x.shape.rank; ++i) y->push(x.shape[i]);
  return {x.shape[axis], x.shape.count(axis + 1, x.shape.rank), indices.shape.count()};
}
#endif
