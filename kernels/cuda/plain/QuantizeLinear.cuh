#pragma once

#include "rounded.cuh"
#include "scale_places.cuh"

// QuantizeLinear: round(x / scale) + zero point, halves to even, cut to the range of the result's type.
struct QuantizeLinear_node {
  int64_t rows, room;
  ScalePlaces places;
};

#ifdef __CUDACC__
template <class X, class S, class Z, class Y>
__device__ void QuantizeLinear_row(const QuantizeLinear_node& of, int64_t i, const X* x, const S* scale, const Z* zero,
                                   Y* y, uint8_t*) {
  const int64_t at = of.places.at(i);
  y[i] = rounded<Y>(float(x[i]) / float(scale[at]), zero == nullptr ? 0.0f : float(zero[at]));
}
#else
inline QuantizeLinear_node QuantizeLinear_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& scale,
                                               const Given&) {
  *y = x.shape;
  return {x.shape.count(), 0, scale_places(node, x.shape, scale.shape)};
}
#endif
