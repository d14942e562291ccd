#pragma once

#include <kernelwright.h>

#include "window.h"

// The window of a convolution or pooling over `x`, with kernels of the given lengths. With `ceil` a last window may run
// off the end, but none may start beyond the input and its first padding.
inline Window sliding_window(const kw::Node& node, const kw::Shape& x, const int64_t* kernel, bool ceil) {
  Window window = described_window(node, kernel, x.rank - 2);
  const bool same_upper = node.is("auto_pad", "SAME_UPPER");
  for (int i = 0; i < window.rank; ++i) {
    WindowAxis& axis = window.axes[i];
    axis.input = x[2 + i];
    if (same_upper || node.is("auto_pad", "SAME_LOWER")) {
      axis.output = (axis.input + axis.stride - 1) / axis.stride;
      split_padding((axis.output - 1) * axis.stride + axis.span() - axis.input, same_upper, axis);
      continue;
    }
    const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
    axis.output = room / axis.stride + 1;
    if (ceil && !node.is("auto_pad", "VALID") && room % axis.stride != 0 &&
        axis.output * axis.stride < axis.input + axis.pad_begin) {
      ++axis.output;
    }
  }
  find_windows_on_input(window);
  return window;
}

// Batch, channels, and how many windows there are along each axis.
inline kw::Shape windows_shape(int64_t batch, int64_t channels, const Window& window) {
  kw::Shape shape{batch, channels};
  for (int i = 0; i < window.rank; ++i) shape.push(window.axes[i].output);
  return shape;
}
