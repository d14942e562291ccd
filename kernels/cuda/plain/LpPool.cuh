#pragma once

#include "windows.cuh"

// LpPool: the p-norm of the elements under each window.
struct LpPool_node {
  Windows windows;
  int64_t x_size, y_size, p;
};

#ifdef __CUDACC__
template <class T>
__device__ T LpPool(const LpPool_node& of, int64_t i, const T* x) {
  const T* from = x + i / of.y_size * of.x_size;
  double sum = 0;
  each_tap(of.windows, i % of.y_size, [&](int64_t at, int64_t) {
    const double value = fabs(double(from[at]));
    sum += of.p == 1 ? value : of.p == 2 ? value * value : pow(value, double(of.p));
  });
  return T(of.p == 1 ? sum : of.p == 2 ? sqrt(sum) : pow(sum, 1 / double(of.p)));
}
#else
inline LpPool_node LpPool_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = kw::Shape{x.shape[0], x.shape[1]};
  LpPool_node of{};
  of.windows =
      sliding_windows(node, x.shape, node.integers("kernel_shape").begin(), node.integer("ceil_mode") != 0, y);
  of.x_size = product(of.windows.input);
  of.y_size = product(of.windows.output);
  of.p = node.integer("p", 2);
  return of;
}
#endif
