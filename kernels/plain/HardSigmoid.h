#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// HardSigmoid: alpha * x + beta, cut to the range 0 to 1.
template <class T>
void HardSigmoid(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W alpha = W(node.real("alpha"));
  const W beta = W(node.real("beta"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(std::clamp(alpha * W(x[i]) + beta, W(0), W(1)));
}
