#pragma once

#include "windows.cuh"

// Conv: slides kernels over the input and sums the products under each window, plus a bias.
struct Conv_node {
  Windows windows;
  int64_t channels, features, in, group;  // of the input, of the output, of a kernel; features of a group
  int64_t x_size, w_size, y_size;
};

#ifdef __CUDACC__
template <class T>
__device__ T Conv(const Conv_node& of, int64_t i, const T* x, const T* w, const T* bias) {
  const int64_t feature = i / of.y_size % of.features, image = i / of.y_size / of.features;
  Wide<T> sum = bias == nullptr ? 0 : Wide<T>(bias[feature]);
  for (int64_t c = 0; c < of.in; ++c) {
    const T* from = x + (image * of.channels + feature / of.group * of.in + c) * of.x_size;
    const T* kernel = w + (feature * of.in + c) * of.w_size;
    each_tap(of.windows, i % of.y_size,
             [&](int64_t at, int64_t tap) { sum += Wide<T>(from[at]) * Wide<T>(kernel[tap]); });
  }
  return T(sum);
}
#else
inline Conv_node Conv_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& w, const Given&) {
  *y = kw::Shape{x.shape[0], w.shape[0]};
  Conv_node of{};
  of.windows = sliding_windows(node, x.shape, w.shape.dims + 2, false, y);
  of.channels = x.shape[1];
  of.features = w.shape[0];
  of.in = w.shape[1];
  of.group = of.features / node.integer("group", 1);
  of.x_size = product(of.windows.input);
  of.w_size = product(of.windows.kernel);
  of.y_size = product(of.windows.output);
  return of;
}
#endif
