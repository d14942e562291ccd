#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Ceil: the smallest whole number not below the element.
template <class T>
void Ceil(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::ceil(Wide<T>(x[i])));
}
