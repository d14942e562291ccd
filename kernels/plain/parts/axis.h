#pragma once

#include <kernelwright.h>

// A tensor seen along one axis: outer x length x inner. Element k of row (o, i) is at (o * length + k) * inner + i.
struct AlongAxis {
  int64_t outer, length, inner;
};

inline AlongAxis along(const kw::Shape& shape, int64_t axis) {
  const int at = static_cast<int>(axis < 0 ? axis + shape.rank : axis);
  return {shape.count(0, at), shape[at], shape.count(at + 1, shape.rank)};
}
