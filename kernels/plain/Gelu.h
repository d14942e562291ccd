#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Gelu: x times the normal distribution's share below x, exactly or through a tanh.
template <class T>
void Gelu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  if (node.is("approximate", "tanh")) {
    const W scale = W(0.79788456080286535588);  // sqrt(2 / pi)
    for (int64_t i = 0; i < x.count(); ++i) {
      const W value = x[i];
      y[i] = T(value / 2 * (1 + std::tanh(scale * (value + W(0.044715) * value * value * value))));
    }
  } else {
    const W scale = W(0.70710678118654752440);  // sqrt(1 / 2)
    for (int64_t i = 0; i < x.count(); ++i) {
      const W value = x[i];
      y[i] = T(value / 2 * (1 + std::erf(scale * value)));
    }
  }
}
