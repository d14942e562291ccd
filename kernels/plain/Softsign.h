#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Softsign: x / (1 + |x|).
template <class T>
void Softsign(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(x[i] / (1 + std::abs(Wide<T>(x[i]))));
}
