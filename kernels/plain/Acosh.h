#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Acosh: the inverse hyperbolic cosine of every element; NaN below 1.
template <class T>
void Acosh(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::acosh(Wide<T>(x[i])));
}
