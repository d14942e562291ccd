#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/wide.h"

// Sub: a - b, broadcast; integers wrap around.
template <class T>
void Sub(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  broadcast_binary(a, b, y, [](T p, T q) { return T(Wide<T>(p) - Wide<T>(q)); });
}
