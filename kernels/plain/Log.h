#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Log: the natural logarithm of every element; NaN below 0.
template <class T>
void Log(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::log(Wide<T>(x[i])));
}
