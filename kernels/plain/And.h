#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// And: whether both are true, broadcast.
inline void And(const kw::Node&, kw::Tensor<const bool> a, kw::Tensor<const bool> b, kw::Tensor<bool>& y) {
  broadcast_binary(a, b, y, [](bool p, bool q) { return p && q; });
}
