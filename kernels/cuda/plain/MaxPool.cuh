#pragma once

#include "windows.cuh"

// MaxPool: the largest element under each window.
struct MaxPool_node {
  Windows windows;
  int64_t x_size, y_size;
};

#ifdef __CUDACC__
template <class T>
__device__ T MaxPool(const MaxPool_node& of, int64_t i, const T* x) {
  const T* from = x + i / of.y_size * of.x_size;
  bool any = false;
  T largest = T(0);
  each_tap(of.windows, i % of.y_size, [&](int64_t at, int64_t) {
    if (!any || from[at] > largest) largest = from[at];
    any = true;
  });
  return largest;
}
#else
inline MaxPool_node MaxPool_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = kw::Shape{x.shape[0], x.shape[1]};
  MaxPool_node of{};
  of.windows =
      sliding_windows(node, x.shape, node.integers("kernel_shape").begin(), node.integer("ceil_mode") != 0, y);
  of.x_size = product(of.windows.input);
  of.y_size = product(of.windows.output);
  return of;
}
#endif
