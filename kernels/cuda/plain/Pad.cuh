#pragma once

#include "common.cuh"

// Pad: elements added around the input, or, with a negative number, cut off: of one value, the edge's, mirrored or from
// the other side.
struct Pad_node {
  int64_t rank, mode;  // mode: 0 a value, 1 the edge, 2 mirrored, 3 from the other side
  int64_t result[8], first[8], before[8], kept[8], strides[8];
  double value;
};

#ifdef __CUDACC__
template <class T, class P, class V, class A>
__device__ T Pad(const Pad_node& of, int64_t i, const T* x, const P*, const V* value, const A*) {
  int64_t from = 0;
  for (int64_t axis = of.rank - 1; axis >= 0; --axis) {
    int64_t at = i % of.result[axis] - of.before[axis];
    i /= of.result[axis];
    const int64_t kept = of.kept[axis];
    if (at < 0 || at >= kept) {
      if (of.mode == 0) return value != nullptr ? T(value[0]) : T(of.value);
      if (of.mode == 1) {
        at = at < 0 ? 0 : kept - 1;
      } else {
        const int64_t period = of.mode == 3 ? kept : kept > 1 ? 2 * (kept - 1) : 1;
        at = (at % period + period) % period;
        if (at >= kept) at = period - at;
      }
    }
    from += (of.first[axis] + at) * of.strides[axis];
  }
  return x[from];
}
#else
inline Pad_node Pad_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& pads, const Given&,
                         const Given& axes) {
  Pad_node of{};
  of.rank = x.shape.rank;
  of.mode = node.is("mode", "edge") ? 1 : node.is("mode", "reflect") ? 2 : node.is("mode", "wrap") ? 3 : 0;
  of.value = node.real("value");
  const int64_t count = (pads.data != nullptr ? pads.shape.count() : node.integers("pads").size()) / 2;
  const auto pad = [&](int64_t i) { return pads.data != nullptr ? pads.integer(i) : node.integers("pads")[i]; };
  int64_t before[8] = {}, after[8] = {};
  for (int64_t i = 0; i < count; ++i) {
    const int axis = axes.data != nullptr ? from_front(axes.integer(i), x.shape.rank) : static_cast<int>(i);
    before[axis] = pad(i);
    after[axis] = pad(count + i);
  }
  *y = x.shape;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    of.first[axis] = before[axis] < 0 ? -before[axis] : 0;
    of.before[axis] = before[axis] > 0 ? before[axis] : 0;
    of.kept[axis] = x.shape[axis] + (before[axis] < 0 ? before[axis] : 0) + (after[axis] < 0 ? after[axis] : 0);
    of.strides[axis] = x.shape.count(axis + 1, x.shape.rank);
    (*y)[axis] = of.before[axis] + of.kept[axis] + (after[axis] > 0 ? after[axis] : 0);
    of.result[axis] = (*y)[axis];
  }
  return of;
}
#endif
