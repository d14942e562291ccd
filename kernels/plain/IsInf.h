#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// IsInf: whether an element is infinite, of the signs asked for.
template <class T>
void IsInf(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<bool>& y) {
  const bool positive = node.integer("detect_positive") != 0;
  const bool negative = node.integer("detect_negative") != 0;
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const Wide<T> value = x[i];
    y[i] = std::isinf(value) && (value > 0 ? positive : negative);
  }
}
