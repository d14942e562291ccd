#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Sigmoid: 1 / (1 + exp(-x)).
template <class T>
void Sigmoid(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(1 / (1 + std::exp(-Wide<T>(x[i]))));
}
