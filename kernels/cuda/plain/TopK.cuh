#pragma once

#include "along_axis.cuh"

// TopK: the k largest (or smallest) elements along an axis in order, and where they are; of equal ones the first first.
struct TopK_node {
  int64_t rows, room;
  AlongAxis view;
  int64_t count, largest;
};

#ifdef __CUDACC__
// One after the other: the best of all that come after the last one in order.
template <class T, class K, class I>
__device__ void TopK_row(const TopK_node& of, int64_t row, const T* x, const K*, T* values, I* indices, uint8_t*) {
  const int64_t inner = of.view.inner;
  const T* from = x + row / inner * of.view.length * inner + row % inner;
  const auto before = [&](int64_t a, int64_t b) {
    const T p = from[a * inner], q = from[b * inner];
    if (p == q) return a < b;
    return of.largest != 0 ? p > q : p < q;
  };
  int64_t last = -1;
  for (int64_t n = 0; n < of.count; ++n) {
    int64_t best = -1;
    for (int64_t k = 0; k < of.view.length; ++k) {
      if (last >= 0 && !before(last, k)) continue;
      if (best < 0 || before(k, best)) best = k;
    }
    const int64_t to = (row / inner * of.count + n) * inner + row % inner;
    if (values != nullptr) values[to] = from[best * inner];
    if (indices != nullptr) indices[to] = I(best);
    last = best;
  }
}
#else
inline TopK_node TopK_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& k) {
  const int axis = from_front(node.integer("axis", -1), x.shape.rank);
  const int64_t count = k.data != nullptr ? k.integer(0) : node.integer("k");
  y[0] = x.shape;
  y[0][axis] = count;
  y[1] = y[0];
  const int64_t length = x.shape[axis];
  return {length == 0 ? 0 : x.shape.count() / length, 0, along(x.shape, axis), count, node.integer("largest", 1)};
}
#endif
