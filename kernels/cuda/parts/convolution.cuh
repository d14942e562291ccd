// The geometry of convolutions as the plain kernels have it, under names that a technique's own do not hide.
#pragma once

#include "../plain/Conv.cuh"
#include "../plain/ConvTranspose.cuh"
#include "sliding.cuh"

#ifndef __CUDACC__
using PlainConv = Conv_node;
using PlainConvTranspose = ConvTranspose_node;

inline PlainConv plain_conv(const kw::Node& node, kw::Shape* y, const Given& x, const Given& w) {
  return Conv_plan(node, y, x, w, Given{});
}
inline PlainConvTranspose plain_conv_transpose(const kw::Node& node, kw::Shape* y, const Given& x, const Given& w) {
  return ConvTranspose_plan(node, y, x, w, Given{});
}
#endif
