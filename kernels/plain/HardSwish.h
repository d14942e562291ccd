#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// HardSwish: x times x / 6 + 0.5 cut to the range 0 to 1.
template <class T>
void HardSwish(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(W(x[i]) * std::clamp(W(x[i]) / 6 + W(0.5), W(0), W(1)));
}
