#pragma once

#include <kernelwright.h>

// Reciprocal: 1 divided by every element.
template <class T>
void Reciprocal(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(1 / x[i]);
}
