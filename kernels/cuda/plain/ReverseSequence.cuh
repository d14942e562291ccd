#pragma once

#include "common.cuh"

// ReverseSequence: the first lengths[b] steps of every sequence b in reverse order.
struct ReverseSequence_node {
  int64_t time_first, columns, inner;
};

#ifdef __CUDACC__
template <class T, class I>
__device__ T ReverseSequence(const ReverseSequence_node& of, int64_t i, const T* x, const I* lengths) {
  const int64_t column = i / of.inner % of.columns, row = i / of.inner / of.columns;
  const int64_t time = of.time_first != 0 ? row : column;
  const int64_t length = int64_t(lengths[of.time_first != 0 ? column : row]);
  const int64_t source = time < length ? length - 1 - time : time;
  const int64_t from = of.time_first != 0 ? source * of.columns + column : row * of.columns + source;
  return x[from * of.inner + i % of.inner];
}
#else
inline ReverseSequence_node ReverseSequence_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&) {
  *y = x.shape;
  return {node.integer("time_axis") == 0 ? 1 : 0, x.shape[1], x.shape.count(2, x.shape.rank)};
}
#endif
