#pragma once

#include <kernelwright.h>

// Relu: max(x, 0), element by element.
template <class T>
void Relu(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > 0 ? x[i] : T(0);
}
