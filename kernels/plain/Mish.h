#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Mish: x * tanh(log(1 + exp(x))).
template <class T>
void Mish(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const W value = x[i];
    const W softplus = std::max(value, W(0)) + std::log1p(std::exp(-std::abs(value)));
    y[i] = T(value * std::tanh(softplus));
  }
}
