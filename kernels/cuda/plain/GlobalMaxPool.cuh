#pragma once

#include "common.cuh"

// GlobalMaxPool: the largest element of each channel.
struct GlobalMaxPool_node {
  int64_t size;  // of one channel
};

#ifdef __CUDACC__
template <class T>
__device__ T GlobalMaxPool(const GlobalMaxPool_node& of, int64_t i, const T* x) {
  const T* from = x + i * of.size;
  T largest = from[0];
  for (int64_t k = 1; k < of.size; ++k) largest = from[k] > largest ? from[k] : largest;
  return largest;
}
#else
inline GlobalMaxPool_node GlobalMaxPool_plan(const kw::Node&, kw::Shape* y, const Given& x) {
  *y = x.shape;
  for (int axis = 2; axis < x.shape.rank; ++axis) (*y)[axis] = 1;
  return {x.shape.count(2, x.shape.rank)};
}
#endif
