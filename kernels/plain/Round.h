#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Round: the nearest whole number, of two equally near the even one.
template <class T>
void Round(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::nearbyint(Wide<T>(x[i])));
}
