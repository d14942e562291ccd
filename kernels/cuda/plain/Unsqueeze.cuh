#pragma once

#include "same_elements.cuh"

// Unsqueeze: the same elements in another shape.
using Unsqueeze_node = SameElements;

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T Unsqueeze(const Unsqueeze_node&, int64_t i, const T* x, const Constants*...) {
  return x[i];
}
#else
inline Unsqueeze_node Unsqueeze_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes) {
  const int64_t added = axes.data != nullptr ? axes.shape.count() : node.integers("axes").size();
  const int rank = x.shape.rank + static_cast<int>(added);
  const NamedAxes named = axes_named(node, axes, rank);
  *y = kw::Shape();
  int from = 0;
  for (int i = 0; i < rank; ++i) y->push(named.has[i] ? 1 : x.shape[from++]);
  return {};
}
#endif
