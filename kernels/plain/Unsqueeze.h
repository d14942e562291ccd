#pragma once

#include <kernelwright.h>

#include "parts/reshaped.h"

// Unsqueeze: with axes of length 1 put in; they count in the result's shape.
template <class T>
void Unsqueeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  y.allocate(unsqueezed(node, x.shape(), axes));
  std::copy(x.begin(), x.end(), y.data());
}
