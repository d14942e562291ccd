#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// LeakyRelu: x where it is not negative, alpha * x elsewhere.
template <class T>
void LeakyRelu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const W value = x[i];
    y[i] = T(std::max(value, W(0)) + alpha * std::min(value, W(0)));  // one of the two is 0
  }
}
