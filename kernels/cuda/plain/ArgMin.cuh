#pragma once

#include "extreme_place.cuh"

// ArgMin: the place of the smallest element along an axis.
using ArgMin_node = ExtremePlace;

#ifdef __CUDACC__
template <class T>
__device__ int64_t ArgMin(const ArgMin_node& of, int64_t i, const T* x) {
  return extreme_place(of, i, x, [](T a, T b) { return a < b; });
}
#else
inline ArgMin_node ArgMin_plan(const kw::Node& node, kw::Shape* y, const Given& x) { return extreme_place_of(node, y, x); }
#endif
