#pragma once

#include <kernelwright.h>

#include "parts/norm.h"
#include "parts/sliding_window.h"
#include "parts/wide.h"

// LpPool: the p-norm of the elements under each window.
template <class T>
void LpPool(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t* kernel = node.integers("kernel_shape").begin();
  const Window window = sliding_window(node, x.shape(), kernel, node.integer("ceil_mode") != 0);
  y.allocate(windows_shape(x.shape(0), x.shape(1), window));
  const int64_t p = node.integer("p");
  const int64_t channels = x.shape(0) * x.shape(1);
  const int64_t x_size = x.shape().count(2, x.rank());  // of one channel
  const int64_t y_size = y.shape().count(2, y.rank());
  const int64_t stride = window.last_stride();
  W* powers = node.scratch<W>(x_size);
  W* sums = node.scratch<W>(y_size);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < x_size; ++i) powers[i] = magnitude_power(W(x[c * x_size + i]), p);
    std::fill_n(sums, y_size, W(0));
    each_tap_row(window, [&](int64_t first, int64_t, int64_t to, int64_t count) {
      for (int64_t k = 0; k < count; ++k) sums[to + k] += powers[first + k * stride];
    });
    for (int64_t i = 0; i < y_size; ++i) y[c * y_size + i] = T(root_of_powers(sums[i], p));
  }
}
