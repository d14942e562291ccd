#pragma once

#include <kernelwright.h>

#include "parts/reshaped.h"

// Reshape: the same elements in another shape; 0 copies a length, -1 takes what is left.
template <class T>
void Reshape(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  y.allocate(reshaped(node, x.shape(), shape));
  std::copy(x.begin(), x.end(), y.data());
}
