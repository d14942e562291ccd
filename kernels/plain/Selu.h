#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Selu: gamma * x where x is positive, gamma * alpha * (exp(x) - 1) elsewhere.
template <class T>
void Selu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  const W gamma = W(node.real("gamma"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const W value = x[i];
    y[i] = T(gamma * (value > 0 ? value : alpha * (std::exp(value) - 1)));
  }
}
