#pragma once

#include <kernelwright.h>

#include "parts/sliding_window.h"

// The place of an element of a channel when the first spatial axis is counted fastest.
inline int64_t column_major_place(int64_t place, const kw::Shape& x) {
  int64_t result = 0;
  for (int axis = x.rank - 1; axis >= 2; --axis) {
    result += place % x[axis] * x.count(2, axis);
    place /= x[axis];
  }
  return result;
}

// MaxPool: the largest element under each window, and where it is (the first of equal ones).
template <class T>
void MaxPool(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y, kw::Tensor<int64_t>& places) {
  const int64_t* kernel = node.integers("kernel_shape").begin();
  const Window window = sliding_window(node, x.shape(), kernel, node.integer("ceil_mode") != 0);
  const bool column_major = node.integer("storage_order") != 0;
  y.allocate(windows_shape(x.shape(0), x.shape(1), window));
  places.allocate(y.shape());
  const int64_t channels = x.shape(0) * x.shape(1);
  const int64_t x_size = x.shape().count(2, x.rank());  // of one channel
  const int64_t y_size = y.shape().count(2, y.rank());
  const int64_t stride = window.last_stride();
  for (int64_t c = 0; c < channels; ++c) {
    const T* from = x.data() + c * x_size;
    T* largest = y.data() + c * y_size;
    int64_t* place = places.data() + c * y_size;
    std::fill_n(place, y_size, int64_t{-1});
    each_tap_row(window, [&](int64_t first, int64_t, int64_t to, int64_t count) {
      for (int64_t k = 0; k < count; ++k) {
        const int64_t at = first + k * stride;
        if (place[to + k] >= 0 && !(from[at] > largest[to + k])) continue;
        largest[to + k] = from[at];
        place[to + k] = at;
      }
    });
    for (int64_t i = 0; i < y_size; ++i) {
      place[i] = c * x_size + (column_major ? column_major_place(place[i], x.shape()) : place[i]);
    }
  }
}
