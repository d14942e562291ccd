#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Swish: x / (1 + exp(-alpha * x)).
template <class T>
void Swish(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(x[i] / (1 + std::exp(-alpha * W(x[i]))));
}
