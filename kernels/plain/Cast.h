#pragma once

#include <kernelwright.h>

// Cast: the elements as another type: floats rounded to nearest even, cut to integers.
template <class X, class Y>
void Cast(const kw::Node&, kw::Tensor<const X> x, kw::Tensor<Y>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = Y(x[i]);
}
