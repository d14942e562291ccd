#pragma once

#include <kernelwright.h>

// CastLike: the elements as the type of another tensor, whose own elements do not count.
template <class X, class Y>
void CastLike(const kw::Node&, kw::Tensor<const X> x, kw::Tensor<const Y>, kw::Tensor<Y>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) y[i] = Y(x[i]);
}
