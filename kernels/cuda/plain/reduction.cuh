#pragma once

#include "common.cuh"

// The elements that one element of a reduction comes from: `kept` says where they begin, `reduced` where each lies.
struct Reduction {
  Strided kept, reduced;
  int64_t count;
};

#ifdef __CUDACC__
// The largest of no elements: no element is below it.
template <class T>
__device__ Wide<T> lowest() {
  if constexpr (Wide<T>(0.5) != 0) {
    return -infinity();
  } else {
    return T(-1) < T(0) ? Wide<T>(-1) << (8 * sizeof(T) - 1) : Wide<T>(0);
  }
}
// And the smallest of none.
template <class T>
__device__ Wide<T> highest() {
  if constexpr (Wide<T>(0.5) != 0) {
    return infinity();
  } else {
    return T(-1) < T(0) ? ~(Wide<T>(-1) << (8 * sizeof(T) - 1)) : Wide<T>(T(-1));
  }
}

template <class T, class F>
__device__ void each_reduced(const Reduction& of, int64_t i, const T* x, F f) {
  const T* from = x + of.kept.at(i);
  for (int64_t k = 0; k < of.count; ++k) f(Wide<T>(from[of.reduced.at(k)]));
}
#else
// Over the axes of a second input or of the attribute; over all where neither names any.
inline Reduction reduction_of(const kw::Node& node, kw::Shape* y, const Given& x, const Given& axes) {
  bool over[8] = {};
  int64_t named = 0;
  if (axes.there) {
    named = axes.shape.count();
    for (int64_t i = 0; i < named; ++i) over[from_front(axes.integer(i), x.shape.rank)] = true;
  } else {
    const kw::List<int64_t> list = node.integers("axes");
    named = list.size();
    for (int64_t axis : list) over[from_front(axis, x.shape.rank)] = true;
  }
  const bool all = named == 0 && node.integer("noop_with_empty_axes") == 0;
  const bool keeps = node.integer("keepdims", 1) != 0;
  Reduction of{{}, {}, 1};
  bool went = false;  // the axis before
  *y = kw::Shape();
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const bool goes = over[axis] || all;
    Strided& view = goes ? of.reduced : of.kept;
    // Neighbouring axes that go together are one.
    const bool joins = axis > 0 && goes == went && view.rank > 0;
    if (!joins) view.lengths[view.rank++] = 1;
    view.lengths[view.rank - 1] *= x.shape[axis];
    view.strides[view.rank - 1] = x.shape.count(axis + 1, x.shape.rank);
    went = goes;
    if (goes) of.count *= x.shape[axis];
    if (!goes || keeps) y->push(goes ? 1 : x.shape[axis]);
  }
  return of;
}
#endif
