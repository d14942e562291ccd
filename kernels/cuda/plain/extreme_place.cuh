#pragma once

#include "along_axis.cuh"

// The place of the best element along an axis, the first or the last of equal ones.
struct ExtremePlace {
  AlongAxis view;
  int64_t last;
};

#ifdef __CUDACC__
template <class T, class Better>
__device__ int64_t extreme_place(const ExtremePlace& of, int64_t i, const T* x, Better better) {
  const T* row = x + i / of.view.inner * of.view.length * of.view.inner + i % of.view.inner;
  int64_t best = 0;
  for (int64_t k = 1; k < of.view.length; ++k) {
    const T here = row[k * of.view.inner], there = row[best * of.view.inner];
    if (better(here, there) || (of.last != 0 && here == there)) best = k;
  }
  return best;
}
#else
inline ExtremePlace extreme_place_of(const kw::Node& node, kw::Shape* y, const Given& x) {
  const int axis = from_front(node.integer("axis"), x.shape.rank);
  *y = kw::Shape();
  for (int i = 0; i < x.shape.rank; ++i) {
    if (i != axis) {
      y->push(x.shape[i]);
    } else if (node.integer("keepdims", 1) != 0) {
      y->push(1);
    }
  }
  return {along(x.shape, axis), node.integer("select_last_index")};
}
#endif
