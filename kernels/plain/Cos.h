#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Cos: the cosine of every element (radians).
template <class T>
void Cos(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::cos(Wide<T>(x[i])));
}
