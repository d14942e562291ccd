// Convolution with kernels of 3 along one axis by Winograd's minimal filtering F(4, 3), for half of the products.
//
// Another convolution that passes the condition below goes the direct way.
//
// serves: Conv
// types: float32
// when: rank0 == 3 && group == 1 && last1 == 3 && size1 >= 768
// order: 10
#pragma once

#include <kernelwright.h>

#include "parts/winograd_convolution.h"

KW_COMPILER("clang++", "g++");

inline const void* prepare_Conv(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                kw::Tensor<const float> w, kw::Tensor<const float>) {
  return winograd::prepare_convolution<1>(call, node, x, w);
}

inline void Conv(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                 kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  winograd::convolve<1>(node, x, w, bias, y, kept);
}
