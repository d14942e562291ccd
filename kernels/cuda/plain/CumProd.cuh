#pragma once

#include "along_axis.cuh"

// CumProd: the product of all elements up to each one along an axis, from either end, with or without itself.
struct CumProd_node {
  AlongAxis view;
  int64_t exclusive, reverse;
};

#ifdef __CUDACC__
template <class T, class A>
__device__ T CumProd(const CumProd_node& of, int64_t i, const T* x, const A*) {
  const T* row = x + of.view.first(i);
  const int64_t at = i / of.view.inner % of.view.length;
  const int64_t begin = of.reverse != 0 ? at + of.exclusive : 0;
  const int64_t end = of.reverse != 0 ? of.view.length : at + 1 - of.exclusive;
  Wide<T> product = 1;
  for (int64_t k = begin; k < end; ++k) product *= Wide<T>(row[k * of.view.inner]);
  return T(product);
}
#else
inline CumProd_node CumProd_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axis) {
  *y = x.shape;
  return {along(x.shape, axis.data == nullptr ? 0 : axis.integer(0)), node.integer("exclusive"),
          node.integer("reverse")};
}
#endif
