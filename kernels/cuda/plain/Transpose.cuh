#pragma once

#include "common.cuh"

// Transpose: the axes in another order.
using Transpose_node = Strided;

#ifdef __CUDACC__
template <class T>
__device__ T Transpose(const Transpose_node& of, int64_t i, const T* x) {
  return x[of.at(i)];
}
#else
inline Transpose_node Transpose_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  const kw::List<int64_t> order = node.integers("perm");
  Transpose_node of{x.shape.rank, {}, {}, 0};
  *y = kw::Shape();
  for (int i = 0; i < x.shape.rank; ++i) {
    const int axis = order.empty() ? x.shape.rank - 1 - i : static_cast<int>(order[i]);
    of.lengths[i] = x.shape[axis];
    of.strides[i] = x.shape.count(axis + 1, x.shape.rank);
    y->push(x.shape[axis]);
  }
  return of;
}
#endif
