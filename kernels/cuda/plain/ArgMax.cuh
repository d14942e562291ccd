#pragma once

#include "extreme_place.cuh"

// ArgMax: the place of the largest element along an axis.
using ArgMax_node = ExtremePlace;

#ifdef __CUDACC__
template <class T>
__device__ int64_t ArgMax(const ArgMax_node& of, int64_t i, const T* x) {
  return extreme_place(of, i, x, [](T a, T b) { return a > b; });
}
#else
inline ArgMax_node ArgMax_plan(const kw::Node& node, kw::Shape* y, const Given& x) { return extreme_place_of(node, y, x); }
#endif
