#pragma once

#include <kernelwright.h>

// A window that slides along the spatial axes of a tensor, those after batch and channel. At output position o its tap
// k lies on input position o * stride - pad + k * dilation; positions outside the input are padding.
struct Windows {  // those from `begin` up to but without `end`
  int64_t begin, end;
};

struct WindowAxis {
  int64_t input, output, kernel;  // lengths
  int64_t stride, dilation, pad_begin, pad_end;
  Windows* on_input;  // for every tap the windows in which it lies on the input

  int64_t span() const { return (kernel - 1) * dilation + 1; }
  int64_t position(int64_t window, int64_t tap) const { return window * stride - pad_begin + tap * dilation; }
};

struct Window {
  int rank = 0;
  WindowAxis axes[KW_MAX_RANK];

  int64_t last_stride() const { return axes[rank - 1].stride; }
};

// The axes as attributes describe them; input and output lengths are still to be set.
inline Window described_window(const kw::Node& node, const int64_t* kernel, int rank) {
  const auto number = [&](const char* name, int i, int64_t otherwise) {
    return node.has(name) ? node.integers(name)[i] : otherwise;
  };
  Window window;
  for (int i = 0; i < rank; ++i) {
    window.axes[window.rank++] = {.input = 1,
                                  .output = 1,
                                  .kernel = kernel[i],
                                  .stride = number("strides", i, 1),
                                  .dilation = number("dilations", i, 1),
                                  .pad_begin = number("pads", i, 0),
                                  .pad_end = number("pads", rank + i, 0),
                                  .on_input = node.scratch<Windows>(kernel[i])};
  }
  return window;
}

// Pads so that `total` elements are added, the odd one at the end or at the beginning.
inline void split_padding(int64_t total, bool more_at_end, WindowAxis& axis) {
  const int64_t pads = std::max<int64_t>(total, 0);
  axis.pad_begin = more_at_end ? pads / 2 : pads - pads / 2;
  axis.pad_end = pads - axis.pad_begin;
}

// Finds on_input, once everything else is known.
inline void find_windows_on_input(Window& window) {
  for (int i = 0; i < window.rank; ++i) {
    WindowAxis& axis = window.axes[i];
    // How many windows there are whose tap lies before a position.
    const auto count_before = [&](int64_t tap, int64_t end) {
      const int64_t way = end - axis.position(0, tap);
      return way <= 0 ? 0 : std::min((way + axis.stride - 1) / axis.stride, axis.output);
    };
    for (int64_t k = 0; k < axis.kernel; ++k) axis.on_input[k] = {count_before(k, 0), count_before(k, axis.input)};
  }
}

// Goes through all windows, tap by tap: calls row(x, tap, y, count) for `count` windows next to each other along the
// last axis. `tap` counts through the kernel; it lies on element x of the first window y, on x + stride of the second,
// and so on. For each window the taps come in their order.
template <class Row>
void each_tap_row(const Window& window, const Row& row, int i = 0, int64_t x = 0, int64_t tap = 0, int64_t y = 0) {
  const WindowAxis& axis = window.axes[i];
  for (int64_t k = 0; k < axis.kernel; ++k) {
    const auto [begin, end] = axis.on_input[k];
    const int64_t x_begin = x * axis.input + axis.position(begin, k);
    const int64_t y_begin = y * axis.output + begin;
    if (i == window.rank - 1) {
      row(x_begin, tap * axis.kernel + k, y_begin, end - begin);
    } else {
      for (int64_t o = 0; o < end - begin; ++o) {
        each_tap_row(window, row, i + 1, x_begin + o * axis.stride, tap * axis.kernel + k, y_begin + o);
      }
    }
  }
}
