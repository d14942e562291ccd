#pragma once

#include <kernelwright.h>

// Fills `to` in order with a tensor of this shape whose elements are `steps` apart in `from`. Returns the end of it.
template <class T>
T* copy_strided(const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to, int axis = 0) {
  if (axis == shape.rank) {
    *to = *from;
    return to + 1;
  }
  const int64_t length = shape[axis];
  const int64_t step = steps[axis];
  if (axis < shape.rank - 1) {
    for (int64_t i = 0; i < length; ++i) to = copy_strided(from + i * step, shape, steps, to, axis + 1);
    return to;
  }
  for (int64_t i = 0; i < length; ++i) to[i] = from[i * step];
  return to + length;
}
