#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Sin: the sine of every element (radians).
template <class T>
void Sin(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::sin(Wide<T>(x[i])));
}
