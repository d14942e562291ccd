#pragma once

#include <kernelwright.h>

// BitwiseNot: every bit of every element turned over.
template <class T>
void BitwiseNot(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T(~x[i]);
}
