#pragma once

#include "common.cuh"

// GlobalAveragePool: the mean of each channel.
struct GlobalAveragePool_node {
  int64_t size;  // of one channel
};

#ifdef __CUDACC__
template <class T>
__device__ T GlobalAveragePool(const GlobalAveragePool_node& of, int64_t i, const T* x) {
  const T* from = x + i * of.size;
  Wide<T> sum = 0;
  for (int64_t k = 0; k < of.size; ++k) sum += Wide<T>(from[k]);
  return T(sum / of.size);
}
#else
inline GlobalAveragePool_node GlobalAveragePool_plan(const kw::Node&, kw::Shape* y, const Given& x) {
  *y = x.shape;
  for (int axis = 2; axis < x.shape.rank; ++axis) (*y)[axis] = 1;
  return {x.shape.count(2, x.shape.rank)};
}
#endif
