#pragma once

#include <kernelwright.h>

// IsNaN: whether an element is not a number.
template <class T>
void IsNaN(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<bool>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] != x[i];
}
