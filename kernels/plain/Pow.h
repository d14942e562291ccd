#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/wide.h"

// An integer to a whole power; wraps around.
template <class T>
T whole_power(T base, uint64_t exponent) {
  Wide<T> result = 1;
  for (Wide<T> factor = Wide<T>(base); exponent > 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 == 1) result *= factor;
  }
  return T(result);
}

// Pow: x to the power of y, broadcast, in the type of x.
template <class X, class Y>
void Pow(const kw::Node&, kw::Tensor<const X> x, kw::Tensor<const Y> y, kw::Tensor<X>& z) {
  broadcast_binary(x, y, z, [](X base, Y exponent) {
    if constexpr (std::is_integral_v<X> && std::is_integral_v<Y>) {
      return whole_power(base, uint64_t(exponent));
    } else if constexpr (std::is_integral_v<X>) {
      const double real = exponent;
      const bool is_whole = real >= 0 && real < 0x1p53 && real == std::floor(real);
      return is_whole ? whole_power(base, uint64_t(real)) : X(std::pow(double(base), real));
    } else {
      using Exponent = std::conditional_t<std::is_integral_v<Y>, Y, Wide<Y>>;
      return X(std::pow(Wide<X>(base), Exponent(exponent)));
    }
  });
}
