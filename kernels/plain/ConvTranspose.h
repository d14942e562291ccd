#pragma once

#include <kernelwright.h>

#include "parts/wide.h"
#include "parts/window.h"

// ConvTranspose: spreads every input element over a window of the result, weighted by kernels, plus a bias. A
// convolution read backwards: what it gives is the window's input.
template <class T>
void ConvTranspose(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> w, kw::Tensor<const T> bias,
                   kw::Tensor<T>& y) {
  const int64_t groups = node.integer("group");
  const int64_t in = x.shape(1) / groups, out = w.shape(1);  // channels of one group
  Window window = described_window(node, w.shape().dims + 2, x.rank() - 2);
  const bool same_upper = node.is("auto_pad", "SAME_UPPER"), same = same_upper || node.is("auto_pad", "SAME_LOWER");
  kw::Shape shape{x.shape(0), groups * out};
  for (int i = 0; i < window.rank; ++i) {
    WindowAxis& axis = window.axes[i];
    axis.output = x.shape(2 + i);
    const int64_t more = node.has("output_padding") ? node.integers("output_padding")[i] : 0;
    const int64_t whole = axis.stride * (axis.output - 1) + more + axis.span();
    if (node.has("output_shape") || same) {
      axis.input = node.has("output_shape") ? node.integers("output_shape")[i] : axis.output * axis.stride;
      split_padding(whole - axis.input, same_upper, axis);
    } else {
      axis.input = whole - axis.pad_begin - axis.pad_end;
    }
    shape.push(axis.input);
  }
  find_windows_on_input(window);
  y.allocate(shape);

  const int64_t x_size = x.shape().count(2, x.rank());  // of one channel
  const int64_t w_size = w.shape().count(2, w.rank());
  const int64_t y_size = shape.count(2, shape.rank);
  const int64_t stride = window.last_stride();
  Wide<T>* sums = node.scratch<Wide<T>>(y_size);
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t o = 0; o < groups * out; ++o) {
      std::fill_n(sums, y_size, bias.given() ? Wide<T>(bias[o]) : 0);
      for (int64_t i = 0; i < in; ++i) {
        const int64_t channel = o / out * in + i;
        const T* from = x.data() + (n * x.shape(1) + channel) * x_size;
        const T* kernel = w.data() + (channel * out + o % out) * w_size;
        each_tap_row(window, [&](int64_t first, int64_t tap, int64_t source, int64_t count) {
          const Wide<T> weight = kernel[tap];
          for (int64_t k = 0; k < count; ++k) sums[first + k * stride] += weight * Wide<T>(from[source + k]);
        });
      }
      T* result = y.data() + (n * groups * out + o) * y_size;
      for (int64_t k = 0; k < y_size; ++k) result[k] = T(sums[k]);
    }
  }
}
