#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Atan: the arc tangent of every element.
template <class T>
void Atan(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::atan(Wide<T>(x[i])));
}
