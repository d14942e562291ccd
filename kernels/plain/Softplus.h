#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Softplus: log(1 + exp(x)), written so that no exponential overflows.
template <class T>
void Softplus(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const W value = x[i];
    y[i] = T(std::max(value, W(0)) + std::log1p(std::exp(-std::abs(value))));
  }
}
