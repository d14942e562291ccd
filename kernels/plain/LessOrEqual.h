#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// LessOrEqual: whether a is not above b, broadcast; never of a NaN.
template <class T>
void LessOrEqual(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return p <= q; });
}
