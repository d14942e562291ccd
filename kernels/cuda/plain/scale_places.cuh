#pragma once

#include "common.cuh"

// Which scale and zero point belong to an element: one for all, one for each place along an axis, or for blocks of them.
struct ScalePlaces {
  int64_t one, length, inner, block, blocks;
#ifdef __CUDACC__
  __device__ int64_t at(int64_t i) const {
    if (one != 0) return 0;
    const int64_t place = i / inner % length;
    if (block == 0) return place;
    return (i / inner / length * blocks + place / block) * inner + i % inner;
  }
#endif
};

#ifndef __CUDACC__
inline ScalePlaces scale_places(const kw::Node& node, const kw::Shape& x, const kw::Shape& scale) {
  const int64_t block = node.integer("block_size");
  if (block == 0 && scale.rank <= 1 && scale.count() == 1) return {1, 1, 1, 0, 0};
  const int axis = from_front(node.integer("axis", 1), x.rank);
  return {0, x[axis], x.count(axis + 1, x.rank), block, block == 0 ? 0 : (x[axis] + block - 1) / block};
}
#endif
