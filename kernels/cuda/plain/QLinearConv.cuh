#pragma once

#include "ConvInteger.cuh"
#include "rounded.cuh"

// QLinearConv: the convolution of quantised numbers, rounded to the scale and zero point of the result.
struct QLinearConv_node {
  ConvInteger_node integer;
  int64_t w_scales;
};

#ifdef __CUDACC__
template <class X, class S, class F, class Y, class B>
__device__ Y QLinearConv(const QLinearConv_node& node, int64_t i, const X* x, const S* x_scale, const X* x_zero,
                         const F* w, const S* w_scale, const F* w_zero, const S* y_scale, const Y* y_zero,
                         const B* bias) {
  const Conv_node& of = node.integer.conv;
  const int64_t feature = i / of.y_size % of.features;
  uint32_t sum = uint32_t(ConvInteger(node.integer, i, x, w, x_zero, w_zero));
  if (bias != nullptr) sum += uint32_t(bias[feature]);
  const float multiplier = float(x_scale[0]) * float(of_slice(w_scale, node.w_scales, feature)) / float(y_scale[0]);
  return rounded<Y>(float(int32_t(sum)) * multiplier, float(y_zero[0]));
}
#else
inline QLinearConv_node QLinearConv_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&, const Given&,
                                         const Given& w, const Given& w_scale, const Given& w_zero, const Given&,
                                         const Given&, const Given&) {
  return {ConvInteger_plan(node, y, x, w, Given{}, w_zero), w_scale.shape.count()};
}
#endif
