#pragma once

#include <kernelwright.h>

#include "parts/reshaped.h"

// Squeeze: without axes of length 1, those named, or all.
template <class T>
void Squeeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  y.allocate(squeezed(node, x.shape(), axes));
  std::copy(x.begin(), x.end(), y.data());
}
