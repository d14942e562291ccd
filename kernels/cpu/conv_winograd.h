// Convolution with kernels of 3 x 3 by Winograd's minimal filtering F(4x4, 3x3), for a quarter of the products.
//
// Another convolution that passes the condition below goes the direct way.
//
// serves: Conv
// types: float32
// when: rank0 >= 4 && rank0 <= 5 && group == 1 && last1 == 3 && size1 % 9 == 0 && size1 >= 2304
// order: 10
#pragma once

#include <kernelwright.h>

#include "parts/winograd_convolution.h"

KW_COMPILER("clang++", "g++");

inline const void* prepare_Conv(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                kw::Tensor<const float> w, kw::Tensor<const float>) {
  return winograd::prepare_convolution<winograd::kIn>(call, node, x, w);
}

inline void Conv(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                 kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  winograd::convolve<winograd::kIn>(node, x, w, bias, y, kept);
}
