#pragma once

#include <kernelwright.h>

#include "parts/sliding_window.h"
#include "parts/wide.h"

// Conv: slides kernels over the input and sums the products under each window, plus a bias.
template <class T>
void Conv(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> w, kw::Tensor<const T> bias,
          kw::Tensor<T>& y) {
  const Window window = sliding_window(node, x.shape(), w.shape().dims + 2, false);
  y.allocate(windows_shape(x.shape(0), w.shape(0), window));
  const int64_t features = w.shape(0), in = w.shape(1);
  const int64_t group = features / node.integer("group");  // features of one
  const int64_t x_size = x.shape().count(2, x.rank());     // of one channel
  const int64_t w_size = w.shape().count(2, w.rank());
  const int64_t y_size = y.shape().count(2, y.rank());
  const int64_t stride = window.last_stride();
  Wide<T>* sums = node.scratch<Wide<T>>(y_size);
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t o = 0; o < features; ++o) {
      std::fill_n(sums, y_size, bias.given() ? Wide<T>(bias[o]) : 0);
      for (int64_t i = 0; i < in; ++i) {
        const T* from = x.data() + (n * x.shape(1) + o / group * in + i) * x_size;
        const T* kernel = w.data() + (o * in + i) * w_size;
        each_tap_row(window, [&](int64_t first, int64_t tap, int64_t to, int64_t count) {
          const Wide<T> weight = kernel[tap];
          for (int64_t k = 0; k < count; ++k) sums[to + k] += weight * Wide<T>(from[first + k * stride]);
        });
      }
      T* result = y.data() + (n * features + o) * y_size;
      for (int64_t k = 0; k < y_size; ++k) result[k] = T(sums[k]);
    }
  }
}
