#pragma once

#include "along_axis.cuh"

// Compress: the elements (or slices along an axis) that a condition marks. One thread.
struct Compress_node {
  int64_t rows, room;
  AlongAxis view;
  int64_t outer, conditions, rank, axis;
  int64_t lengths[8];  // of the result, but for those that the condition decides
};

#ifdef __CUDACC__
template <class T>
__device__ void Compress_row(const Compress_node& of, int64_t, const T* x, const bool* condition, T* y, int64_t* found,
                             uint8_t*) {
  int64_t kept = 0, to = 0;
  for (int64_t k = 0; k < of.conditions; ++k) kept += condition[k] ? 1 : 0;
  found[0] = of.rank;
  for (int64_t axis = 0; axis < of.rank; ++axis) found[1 + axis] = axis == of.axis ? kept : of.lengths[axis];
  for (int64_t o = 0; o < of.outer; ++o) {
    for (int64_t k = 0; k < of.conditions; ++k) {
      for (int64_t i = 0; i < of.view.inner && condition[k]; ++i) {
        y[to++] = x[(o * of.view.length + k) * of.view.inner + i];
      }
    }
  }
}
#else
inline Compress_node Compress_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& condition) {
  Compress_node of{1, 0, {x.shape.count(), 1}, 1, condition.shape.count(), 1, 0, {x.shape.count()}};
  *y = kw::Shape{x.shape.count()};
  if (!node.has("axis")) return of;
  of.axis = from_front(node.integer("axis"), x.shape.rank);
  of.view = along(x.shape, of.axis);
  of.outer = x.shape.count(0, static_cast<int>(of.axis));
  of.rank = x.shape.rank;
  for (int i = 0; i < x.shape.rank; ++i) of.lengths[i] = x.shape[i];
  *y = x.shape;
  return of;
}
#endif
