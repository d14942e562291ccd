#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Neg: every element with its sign turned over; the lowest integer wraps to itself.
template <class T>
void Neg(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(-Wide<T>(x[i]));
}
