#pragma once

#include "common.cuh"

// Tile: the input repeated along every axis.
struct Tile_node {
  int64_t rank;
  int64_t lengths[8], result[8];
};

#ifdef __CUDACC__
template <class T, class R>
__device__ T Tile(const Tile_node& of, int64_t i, const T* x, const R*) {
  int64_t from = 0, step = 1;
  for (int64_t axis = of.rank - 1; axis >= 0; --axis) {
    from += i % of.result[axis] % of.lengths[axis] * step;
    i /= of.result[axis];
    step *= of.lengths[axis];
  }
  return x[from];
}
#else
inline Tile_node Tile_plan(const kw::Node&, kw::Shape* y, const Given& x, const Given& repeats) {
  Tile_node of{x.shape.rank, {}, {}};
  *y = x.shape;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    of.lengths[axis] = x.shape[axis];
    (*y)[axis] *= repeats.data == nullptr ? 1 : repeats.integer(axis);
    of.result[axis] = (*y)[axis];
  }
  return of;
}
#endif
