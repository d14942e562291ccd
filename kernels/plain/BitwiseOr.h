#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// BitwiseOr: the bits that either has, broadcast.
template <class T>
void BitwiseOr(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return T(p | q); });
}
