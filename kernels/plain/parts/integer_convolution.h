#pragma once

#include <kernelwright.h>

#include "of_slice.h"
#include "sliding_window.h"

// The sums of (x - zero point) * (w - zero point of the feature) under each window; padding adds nothing. Calls
// put(feature, sums, first) for every channel of the result, whose elements begin at `first`.
template <class X, class F, class Put>
void integer_convolution(const kw::Node& node, const Window& window, int64_t y_size, kw::Tensor<const X> x,
                         kw::Tensor<const X> x_zero, kw::Tensor<const F> w, kw::Tensor<const F> w_zero, Put put) {
  const int64_t features = w.shape(0), in = w.shape(1);
  const int64_t group = features / node.integer("group");  // features of one
  const int64_t x_size = x.shape().count(2, x.rank());     // of one channel
  const int64_t w_size = w.shape().count(2, w.rank());
  const int64_t stride = window.last_stride();
  const int32_t zero = of_slice(x_zero, 0);
  int32_t* image = node.scratch<int32_t>(x.shape(1) * x_size);  // less the zero point
  uint32_t* sums = node.scratch<uint32_t>(y_size);
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t i = 0; i < x.shape(1) * x_size; ++i) image[i] = x[n * x.shape(1) * x_size + i] - zero;
    for (int64_t o = 0; o < features; ++o) {
      const int32_t kernel_zero = of_slice(w_zero, o);
      std::fill_n(sums, y_size, uint32_t(0));
      for (int64_t i = 0; i < in; ++i) {
        const int32_t* from = image + (o / group * in + i) * x_size;
        const F* kernel = w.data() + (o * in + i) * w_size;
        each_tap_row(window, [&](int64_t first, int64_t tap, int64_t to, int64_t count) {
          const int32_t weight = kernel[tap] - kernel_zero;
          for (int64_t k = 0; k < count; ++k) sums[to + k] += uint32_t(weight * from[first + k * stride]);
        });
      }
      put(o, sums, (n * features + o) * y_size);
    }
  }
}
