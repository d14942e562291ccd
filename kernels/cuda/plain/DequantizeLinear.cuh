#pragma once

#include "scale_places.cuh"

// DequantizeLinear: (x - zero point) * scale.
using DequantizeLinear_node = ScalePlaces;

#ifdef __CUDACC__
template <class X, class S>
__device__ float DequantizeLinear(const DequantizeLinear_node& of, int64_t i, const X* x, const S* scale, const X* zero) {
  const int64_t at = of.at(i);
  return (float(x[i]) - (zero == nullptr ? 0.0f : float(zero[at]))) * float(scale[at]);
}
#else
inline DequantizeLinear_node DequantizeLinear_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                                   const Given& scale, const Given&) {
  *y = x.shape;
  return scale_places(node, x.shape, scale.shape);
}
#endif
