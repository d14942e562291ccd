#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// ThresholdedRelu: x where it is above alpha, 0 elsewhere.
template <class T>
void ThresholdedRelu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > alpha ? x[i] : T(0);
}
