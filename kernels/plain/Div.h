#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/wide.h"

// Div: a / b, broadcast; integers toward zero.
template <class T>
void Div(const kw::Node&, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  broadcast_binary(a, b, y, [](T p, T q) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (q == -1) return T(-Wide<T>(p));  // processors trap on the lowest number
    }
    return T(p / q);
  });
}
