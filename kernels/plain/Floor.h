#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Floor: the largest whole number not above the element.
template <class T>
void Floor(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::floor(Wide<T>(x[i])));
}
