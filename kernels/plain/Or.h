#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// Or: whether either is true, broadcast.
inline void Or(const kw::Node&, kw::Tensor<const bool> a, kw::Tensor<const bool> b, kw::Tensor<bool>& y) {
  broadcast_binary(a, b, y, [](bool p, bool q) { return p || q; });
}
