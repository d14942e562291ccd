#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Asin: the arc sine of every element; NaN outside [-1, 1].
template <class T>
void Asin(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::asin(Wide<T>(x[i])));
}
