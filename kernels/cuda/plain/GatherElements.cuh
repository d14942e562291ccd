#pragma once

#include "common.cuh"

// GatherElements: for every index the element that it points to along an axis.
struct GatherElements_node {
  Strided view;  // of the data, with the indices' lengths, and no step along the axis
  int64_t length, step;
};

#ifdef __CUDACC__
template <class T, class I>
__device__ T GatherElements(const GatherElements_node& of, int64_t i, const T* x, const I* indices) {
  const int64_t index = indices[i] < 0 ? int64_t(indices[i]) + of.length : int64_t(indices[i]);
  return x[of.view.at(i) + index * of.step];
}
#else
inline GatherElements_node GatherElements_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                               const Given& indices) {
  *y = indices.shape;
  const int axis = from_front(node.integer("axis"), x.shape.rank);
  GatherElements_node of{{x.shape.rank, {}, {}, 0}, x.shape[axis], x.shape.count(axis + 1, x.shape.rank)};
  for (int i = 0; i < x.shape.rank; ++i) {
    of.view.lengths[i] = indices.shape[i];
    of.view.strides[i] = i == axis ? 0 : x.shape.count(i + 1, x.shape.rank);
  }
  return of;
}
#endif
