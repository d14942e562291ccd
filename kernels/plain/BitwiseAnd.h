#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// BitwiseAnd: the bits that both have, broadcast.
template <class T>
void BitwiseAnd(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return T(p & q); });
}
