// Convolution as a product whose right matrix is the input itself, seen through an offset for every tap.
//
// serves: Conv
// types: float32
// when: rank0 <= 5
// order: 20
#pragma once

#include <kernelwright.h>

#include "parts/direct_convolution.h"

KW_COMPILER("clang++", "g++");

inline const void* prepare_Conv(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>,
                                kw::Tensor<const float> w, kw::Tensor<const float>) {
  return direct::prepare(call, node, w);
}

inline void Conv(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                 kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  direct::run(node, x, w, bias, y, kept);
}
