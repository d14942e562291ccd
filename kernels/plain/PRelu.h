#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/wide.h"

// PRelu: x where it is not negative, slope * x elsewhere; the slope broadcasts to x.
template <class T>
void PRelu(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const T> slope, kw::Tensor<T>& y) {
  using W = Wide<T>;
  broadcast_binary(x, slope, y, [](T value, T factor) {
    return value < 0 ? T(W(factor) * W(value)) : value;  // an infinite slope is no factor of 0
  });
}
