#pragma once

#include "Conv.cuh"
#include "integer_products.cuh"

// ConvInteger: the convolution of quantised numbers, their zero points taken off, in 32-bit integers.
struct ConvInteger_node {
  Conv_node conv;
  int64_t w_zeros;  // how many there are
};

#ifdef __CUDACC__
template <class X, class F, class P, class Q>
__device__ int32_t ConvInteger(const ConvInteger_node& node, int64_t i, const X* x, const F* w, const P* x_zero,
                               const Q* w_zero) {
  const Conv_node& of = node.conv;
  const int64_t feature = i / of.y_size % of.features, image = i / of.y_size / of.features;
  const int64_t p = int64_t(of_slice(x_zero, 1, 0)), q = int64_t(of_slice(w_zero, node.w_zeros, feature));
  uint32_t sum = 0;
  for (int64_t c = 0; c < of.in; ++c) {
    const X* from = x + (image * of.channels + feature / of.group * of.in + c) * of.x_size;
    const F* kernel = w + (feature * of.in + c) * of.w_size;
    each_tap(of.windows, i % of.y_size, [&](int64_t at, int64_t tap) {
      sum += uint32_t((int64_t(from[at]) - p) * (int64_t(kernel[tap]) - q));
    });
  }
  return int32_t(sum);
}
#else
inline ConvInteger_node ConvInteger_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& w,
                                         const Given&, const Given& w_zero) {
  return {Conv_plan(node, y, x, w, Given{}), w_zero.shape.count()};
}
#endif
