#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// BitShift: the bits of x moved left or right by y, broadcast. Zeros follow, or the signs of negative numbers that are
// moved right.
template <class T>
void BitShift(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> y, kw::Tensor<T>& z) {
  using Bits = std::make_unsigned_t<T>;
  constexpr Bits kWidth = 8 * sizeof(T);
  if (node.is("direction", "LEFT")) {
    broadcast_binary(x, y, z, [](T bits, T by) { return Bits(by) < kWidth ? T(Bits(bits) << by) : T(0); });
  } else {
    broadcast_binary(x, y, z, [](T bits, T by) { return Bits(by) < kWidth ? T(bits >> by) : T(bits < 0 ? -1 : 0); });
  }
}
