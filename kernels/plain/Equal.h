#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// Equal: whether a equals b, broadcast.
template <class T>
void Equal(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return p == q; });
}
