#pragma once

#include "common.cuh"

// Clip: elements below the least value become it, those above the largest become that.
struct Clip_node {
  double low, high;  // by attributes, as opsets before 11 have them
  int64_t has_low, has_high;
};

#ifdef __CUDACC__
template <class T>
__device__ T Clip(const Clip_node& of, int64_t i, const T* x, const T* low, const T* high) {
  T value = x[i];
  if (low != nullptr || of.has_low != 0) {
    const T least = low != nullptr ? low[0] : T(of.low);
    if (value < least) value = least;
  }
  if (high != nullptr || of.has_high != 0) {
    const T most = high != nullptr ? high[0] : T(of.high);
    if (value > most) value = most;
  }
  return value;
}
#else
inline Clip_node Clip_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&, const Given&) {
  *y = x.shape;
  return {node.real("min"), node.real("max"), node.has("min") ? 1 : 0, node.has("max") ? 1 : 0};
}
#endif
