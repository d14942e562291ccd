#pragma once

#include "common.cuh"

// Trilu: the upper or lower triangle of every matrix, from its k-th diagonal on; zero elsewhere.
struct Trilu_node {
  int64_t rows, columns, upper;
};

#ifdef __CUDACC__
template <class T, class K>
__device__ T Trilu(const Trilu_node& of, int64_t i, const T* x, const K* k) {
  const int64_t column = i % of.columns, row = i / of.columns % of.rows;
  int64_t diagonal = k == nullptr ? 0 : int64_t(k[0]);
  if (diagonal < -of.rows) diagonal = -of.rows;
  if (diagonal > of.columns) diagonal = of.columns;
  const bool inside = of.upper != 0 ? column >= row + diagonal : column <= row + diagonal;
  return inside ? x[i] : T(0);
}
#else
inline Trilu_node Trilu_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&) {
  *y = x.shape;
  return {x.shape[-2], x.shape[-1], node.integer("upper", 1)};
}
#endif
