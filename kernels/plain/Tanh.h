#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Tanh: the hyperbolic tangent of every element.
template <class T>
void Tanh(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::tanh(Wide<T>(x[i])));
}
