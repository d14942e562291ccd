#pragma once

#include "reduction.cuh"

// ReduceProd: the product of the elements along the axes.
using ReduceProd_node = Reduction;

#ifdef __CUDACC__
template <class T, class... Axes>
__device__ T ReduceProd(const ReduceProd_node& of, int64_t i, const T* x, const Axes*...) {
  Wide<T> product = 1;
  each_reduced(of, i, x, [&](Wide<T> value) { product *= value; });
  return T(product);
}
#else
inline ReduceProd_node ReduceProd_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes = {}) {
  return reduction_of(node, y, x, axes);
}
#endif
