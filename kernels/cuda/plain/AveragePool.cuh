#pragma once

#include "windows.cuh"

// AveragePool: the mean of the elements under each window; with count_include_pad the padding counts as zeros.
struct AveragePool_node {
  Windows windows, counted;
  int64_t x_size, y_size;
};

#ifdef __CUDACC__
template <class T>
__device__ T AveragePool(const AveragePool_node& of, int64_t i, const T* x) {
  const T* from = x + i / of.y_size * of.x_size;
  Wide<T> sum = 0;
  int64_t count = 0;
  each_tap(of.windows, i % of.y_size, [&](int64_t at, int64_t) { sum += Wide<T>(from[at]); });
  each_tap(of.counted, i % of.y_size, [&](int64_t, int64_t) { ++count; });
  return T(sum / count);
}
#else
inline AveragePool_node AveragePool_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = kw::Shape{x.shape[0], x.shape[1]};
  AveragePool_node of{};
  of.windows =
      sliding_windows(node, x.shape, node.integers("kernel_shape").begin(), node.integer("ceil_mode") != 0, y);
  of.counted = of.windows;
  if (node.integer("count_include_pad") != 0) {
    for (int axis = 0; axis < 3; ++axis) {
      of.counted.input[axis] += of.counted.pad[axis] + of.counted.pad_end[axis];
      of.counted.pad[axis] = 0;
    }
  }
  of.x_size = product(of.windows.input);
  of.y_size = product(of.windows.output);
  return of;
}
#endif
