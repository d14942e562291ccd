#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// BitwiseXor: the bits that one of them has, broadcast.
template <class T>
void BitwiseXor(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return T(p ^ q); });
}
