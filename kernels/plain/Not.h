#pragma once

#include <kernelwright.h>

// Not: true for false and false for true.
inline void Not(const kw::Node&, kw::Tensor<const bool> x, kw::Tensor<bool>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = !x[i];
}
