#pragma once

#include "common.cuh"

// NonZero: the coordinates of the elements that are not zero, one row for each axis, in the input's order. One thread.
struct NonZero_node {
  int64_t rows, room;
  int64_t rank, count;
  int64_t lengths[8];
};

#ifdef __CUDACC__
template <class T, class I>
__device__ void NonZero_row(const NonZero_node& of, int64_t, const T* x, I* y, int64_t* found, uint8_t*) {
  int64_t all = 0, n = 0;
  for (int64_t i = 0; i < of.count; ++i) all += x[i] != T(0);
  found[0] = 2;
  found[1] = of.rank;
  found[2] = all;
  for (int64_t i = 0; i < of.count; ++i) {
    if (x[i] == T(0)) continue;
    int64_t rest = i;
    for (int64_t axis = of.rank - 1; axis >= 0; --axis) {
      y[axis * all + n] = I(rest % of.lengths[axis]);
      rest /= of.lengths[axis];
    }
    ++n;
  }
}
#else
inline NonZero_node NonZero_plan(const kw::Node&, kw::Shape* y, const Given& x) {
  *y = {x.shape.rank, x.shape.count()};
  NonZero_node of{1, 0, x.shape.rank, x.shape.count(), {}};
  for (int i = 0; i < x.shape.rank; ++i) of.lengths[i] = x.shape[i];
  return of;
}
#endif
