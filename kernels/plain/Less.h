#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// Less: whether a is below b, broadcast.
template <class T>
void Less(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return p < q; });
}
