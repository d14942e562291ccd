#pragma once

#include "common.cuh"

// Slice: of each named axis the elements from a start up to an end, every so many.
using Slice_node = Strided;

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T Slice(const Slice_node& of, int64_t i, const T* x, const Constants*...) {
  return x[of.at(i)];
}
#else
inline int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

inline Slice_node Slice_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& starts, const Given& ends,
                             const Given& axes, const Given& steps) {
  const auto at = [&](const Given& given, const char* attribute, int64_t i, int64_t otherwise) {
    if (given.data != nullptr) return given.integer(i);
    const kw::List<int64_t> list = node.integers(attribute);
    return i < list.size() ? list[i] : otherwise;
  };
  Slice_node of{x.shape.rank, {}, {}, 0};
  *y = x.shape;
  for (int axis = 0; axis < x.shape.rank; ++axis) of.strides[axis] = x.shape.count(axis + 1, x.shape.rank);
  const int64_t count = starts.data != nullptr ? starts.shape.count() : node.integers("starts").size();
  for (int64_t i = 0; i < count; ++i) {
    const int axis = from_front(at(axes, "axes", i, i), x.shape.rank);
    const int64_t length = x.shape[axis];
    if (length == 0) continue;
    const int64_t step = clamped(at(steps, "steps", i, 1), -length, length);
    const int64_t high = step > 0 ? length : length - 1;
    int64_t start = at(starts, "starts", i, 0), end = at(ends, "ends", i, length);
    start = clamped(start < 0 ? start + length : start, 0, high);
    end = clamped(end < 0 ? end + length : end, step > 0 ? 0 : -1, high);
    const int64_t distance = step > 0 ? end - start : start - end;
    (*y)[axis] = distance > 0 ? 1 + (distance - 1) / (step > 0 ? step : -step) : 0;
    of.offset += start * of.strides[axis];
    of.strides[axis] *= step;
  }
  for (int axis = 0; axis < x.shape.rank; ++axis) of.lengths[axis] = (*y)[axis];
  return of;
}
#endif
