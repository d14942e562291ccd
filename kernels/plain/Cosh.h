#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Cosh: the hyperbolic cosine of every element.
template <class T>
void Cosh(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::cosh(Wide<T>(x[i])));
}
