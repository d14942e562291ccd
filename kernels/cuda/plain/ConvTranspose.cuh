#pragma once

#include "windows.cuh"

// ConvTranspose: spreads every input element over a window of the result, weighted by kernels, plus a bias. A
// convolution read backwards: `windows.input` is the result, `windows.output` the input.
struct ConvTranspose_node {
  Windows windows;
  int64_t channels, features, in, out;  // of the input, of the result; of a group's input and output
  int64_t x_size, w_size, y_size;
};

#ifdef __CUDACC__
template <class T>
__device__ T ConvTranspose(const ConvTranspose_node& of, int64_t i, const T* x, const T* w, const T* bias) {
  const Windows& windows = of.windows;
  const int64_t feature = i / of.y_size % of.features, image = i / of.y_size / of.features;
  int64_t at[3] = {0, 0, 0}, rest = i % of.y_size;
  for (int64_t axis = windows.axes - 1; axis >= 0; --axis) {
    at[axis] = rest % windows.input[axis] + windows.pad[axis];
    rest /= windows.input[axis];
  }
  // The input element whose window has this place as its tap k of an axis; -1: none.
  const auto source = [&](int64_t axis, int64_t k) -> int64_t {
    const int64_t begin = at[axis] - k * windows.dilation[axis];
    if (begin < 0 || begin % windows.stride[axis] != 0) return -1;
    const int64_t place = begin / windows.stride[axis];
    return place < windows.output[axis] ? place : -1;
  };
  Wide<T> sum = bias == nullptr ? 0 : Wide<T>(bias[feature]);
  for (int64_t a = 0; a < windows.kernel[0]; ++a) {
    const int64_t p = source(0, a);
    if (p < 0) continue;
    for (int64_t b = 0; b < windows.kernel[1]; ++b) {
      const int64_t q = source(1, b);
      if (q < 0) continue;
      for (int64_t c = 0; c < windows.kernel[2]; ++c) {
        const int64_t r = source(2, c);
        if (r < 0) continue;
        const int64_t place = (p * windows.output[1] + q) * windows.output[2] + r;
        const int64_t tap = (a * windows.kernel[1] + b) * windows.kernel[2] + c;
        for (int64_t k = 0; k < of.in; ++k) {
          const int64_t channel = feature / of.out * of.in + k;
          sum += Wide<T>(x[(image * of.channels + channel) * of.x_size + place]) *
                 Wide<T>(w[(channel * of.out + feature % of.out) * of.w_size + tap]);
        }
      }
    }
  }
  return T(sum);
}
#else
inline ConvTranspose_node ConvTranspose_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& w,
                                             const Given&) {
  const int64_t groups = node.integer("group", 1);
  ConvTranspose_node of{};
  Windows& windows = of.windows;
  windows = {x.shape.rank - 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
  of.channels = x.shape[1];
  of.in = of.channels / groups;
  of.out = w.shape[1];
  of.features = groups * of.out;
  *y = kw::Shape{x.shape[0], groups * of.out};
  const bool upper = node.is("auto_pad", "SAME_UPPER"), same = upper || node.is("auto_pad", "SAME_LOWER");
  for (int i = 0; i < windows.axes; ++i) {
    windows.output[i] = x.shape[2 + i];
    windows.kernel[i] = w.shape[2 + i];
    windows.stride[i] = at_or(node.integers("strides"), i, 1);
    windows.dilation[i] = at_or(node.integers("dilations"), i, 1);
    windows.pad[i] = at_or(node.integers("pads"), i, 0);
    const int64_t end = at_or(node.integers("pads"), i + static_cast<int>(windows.axes), 0);
    const int64_t more = at_or(node.integers("output_padding"), i, 0);
    const int64_t span = (windows.kernel[i] - 1) * windows.dilation[i] + 1;
    const int64_t whole = windows.stride[i] * (windows.output[i] - 1) + more + span;
    if (node.has("output_shape") || same) {
      windows.input[i] =
          node.has("output_shape") ? node.integers("output_shape")[i] : windows.output[i] * windows.stride[i];
      const int64_t all = whole - windows.input[i] > 0 ? whole - windows.input[i] : 0;
      windows.pad[i] = upper ? all / 2 : all - all / 2;
    } else {
      windows.input[i] = whole - windows.pad[i] - end;
    }
    y->push(windows.input[i]);
  }
  of.x_size = product(windows.output);
  of.w_size = product(windows.kernel);
  of.y_size = product(windows.input);
  return of;
}
#endif
