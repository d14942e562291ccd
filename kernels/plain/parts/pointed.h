#pragma once

#include <kernelwright.h>

#include "strides.h"

// Calls f(i, place) for every element i of the indices with the place in the data that it points to: the index along
// the axis (negative: from its end), the element's own coordinates along the others.
template <class I, class F>
void each_pointed(const kw::Shape& data, kw::Tensor<const I> indices, int axis, F f) {
  const kw::Shape steps = strides_of(data);
  const kw::Shape& shape = indices.shape();
  const int last = shape.rank - 1;
  const int64_t row = shape[last];
  const int64_t own_step = axis == last ? 0 : 1;
  for (int64_t begin = 0; begin < indices.count(); begin += row) {
    int64_t base = 0;
    int64_t rest = begin / row;
    for (int i = last - 1; i >= 0; --i) {
      if (i != axis) base += rest % shape[i] * steps[i];
      rest /= shape[i];
    }
    for (int64_t i = 0; i < row; ++i) {
      const int64_t index = indices[begin + i];
      f(begin + i, base + i * own_step + (index < 0 ? index + data[axis] : index) * steps[axis]);
    }
  }
}
