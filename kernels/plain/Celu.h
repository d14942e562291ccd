#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Celu: x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere.
template <class T>
void Celu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > 0 ? x[i] : T(alpha * (std::exp(W(x[i]) / alpha) - 1));
}
