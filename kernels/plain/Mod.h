#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/wide.h"

// Mod: the remainder of a divided by b, broadcast, with the sign of b, or with fmod that of a.
template <class T>
void Mod(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  const bool sign_of_a = node.integer("fmod") != 0;
  broadcast_binary(a, b, y, [sign_of_a](T p, T q) {
    T rest;
    if constexpr (!std::is_integral_v<T>) {
      rest = T(std::fmod(Wide<T>(p), Wide<T>(q)));
    } else if constexpr (std::is_signed_v<T>) {
      rest = q == -1 ? T(0) : T(p % q);  // processors trap on the lowest number
    } else {
      return T(p % q);
    }
    const bool other_side = rest != 0 && (rest < 0) != (q < 0);
    return other_side && !sign_of_a ? T(rest + q) : rest;
  });
}
