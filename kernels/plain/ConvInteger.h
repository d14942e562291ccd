#pragma once

#include <kernelwright.h>

#include "parts/integer_convolution.h"

// ConvInteger: the convolution of quantised numbers, their zero points taken off, in 32-bit integers.
template <class X, class F>
void ConvInteger(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const F> w, kw::Tensor<const X> x_zero,
                 kw::Tensor<const F> w_zero, kw::Tensor<int32_t>& y) {
  const Window window = sliding_window(node, x.shape(), w.shape().dims + 2, false);
  y.allocate(windows_shape(x.shape(0), w.shape(0), window));
  const int64_t size = y.shape().count(2, y.rank());
  integer_convolution(node, window, size, x, x_zero, w, w_zero, [&](int64_t, const uint32_t* sums, int64_t first) {
    for (int64_t i = 0; i < size; ++i) y[first + i] = int32_t(sums[i]);
  });
}
