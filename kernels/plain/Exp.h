#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Exp: e to the power of every element.
template <class T>
void Exp(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::exp(Wide<T>(x[i])));
}
