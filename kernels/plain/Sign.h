#pragma once

#include <kernelwright.h>

// Sign: 1 for a positive element, -1 for a negative one, 0 for zero.
template <class T>
void Sign(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = T((x[i] > 0) - (x[i] < 0));
}
