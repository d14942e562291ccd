#pragma once

#include "same_elements.cuh"

// Squeeze: the same elements in another shape.
using Squeeze_node = SameElements;

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T Squeeze(const Squeeze_node&, int64_t i, const T* x, const Constants*...) {
  return x[i];
}
#else
inline Squeeze_node Squeeze_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes) {
  const NamedAxes named = axes_named(node, axes, x.shape.rank);
  *y = kw::Shape();
  for (int i = 0; i < x.shape.rank; ++i) {
    if (named.any ? !named.has[i] : x.shape[i] != 1) y->push(x.shape[i]);
  }
  return {};
}
#endif
