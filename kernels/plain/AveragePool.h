#pragma once

#include <kernelwright.h>

#include "parts/sliding_window.h"
#include "parts/wide.h"

// AveragePool: the mean of the elements under each window, with or without padding.
template <class T>
void AveragePool(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t* kernel = node.integers("kernel_shape").begin();
  const Window window = sliding_window(node, x.shape(), kernel, node.integer("ceil_mode") != 0);
  y.allocate(windows_shape(x.shape(0), x.shape(1), window));
  const int64_t channels = x.shape(0) * x.shape(1);
  const int64_t x_size = x.shape().count(2, x.rank());  // of one channel
  const int64_t y_size = y.shape().count(2, y.rank());
  const int64_t stride = window.last_stride();

  // How many elements each window averages: those on the input, or on what the input is with its padding.
  Window counted = window;
  if (node.integer("count_include_pad") != 0) {
    for (int i = 0; i < counted.rank; ++i) {
      WindowAxis& axis = counted.axes[i];
      axis.input += axis.pad_begin + axis.pad_end;
      axis.pad_begin = axis.pad_end = 0;
      axis.on_input = node.scratch<Windows>(axis.kernel);
    }
    find_windows_on_input(counted);
  }
  W* divisors = node.scratch<W>(y_size);
  std::fill_n(divisors, y_size, W(0));
  each_tap_row(counted, [&](int64_t, int64_t, int64_t to, int64_t count) {
    for (int64_t k = 0; k < count; ++k) divisors[to + k] += 1;
  });

  W* sums = node.scratch<W>(y_size);
  for (int64_t c = 0; c < channels; ++c) {
    const T* from = x.data() + c * x_size;
    std::fill_n(sums, y_size, W(0));
    each_tap_row(window, [&](int64_t first, int64_t, int64_t to, int64_t count) {
      for (int64_t k = 0; k < count; ++k) sums[to + k] += W(from[first + k * stride]);
    });
    for (int64_t i = 0; i < y_size; ++i) y[c * y_size + i] = T(sums[i] / divisors[i]);
  }
}
