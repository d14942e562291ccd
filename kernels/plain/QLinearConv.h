#pragma once

#include <kernelwright.h>

#include "parts/integer_convolution.h"
#include "parts/of_slice.h"
#include "parts/requantize.h"

// QLinearConv: the convolution of quantised numbers, rounded to the scale and zero point of the result.
template <class X, class S, class F, class Y>
void QLinearConv(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> x_scale, kw::Tensor<const X> x_zero,
                 kw::Tensor<const F> w, kw::Tensor<const S> w_scale, kw::Tensor<const F> w_zero,
                 kw::Tensor<const S> y_scale, kw::Tensor<const Y> y_zero, kw::Tensor<const int32_t> bias,
                 kw::Tensor<Y>& y) {
  const Window window = sliding_window(node, x.shape(), w.shape().dims + 2, false);
  y.allocate(windows_shape(x.shape(0), w.shape(0), window));
  const int64_t size = y.shape().count(2, y.rank());
  integer_convolution(node, window, size, x, x_zero, w, w_zero, [&](int64_t o, const uint32_t* sums, int64_t first) {
    const float multiplier = float(x_scale[0]) * float(of_slice(w_scale, o)) / float(y_scale[0]);
    const uint32_t added = bias.given() ? uint32_t(bias[o]) : 0;
    for (int64_t i = 0; i < size; ++i) y[first + i] = requantized(int32_t(sums[i] + added), multiplier, y_zero[0]);
  });
}
