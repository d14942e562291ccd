#pragma once

#include <kernelwright.h>

// What sums and products of T are computed in: float for 16-bit floats, and for integers the unsigned type of 32 or 64
// bits, where overflow is defined and wraps to the same bits.
template <class T>
struct WideOf {
  using Type = std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>,
                                  std::conditional_t<sizeof(T) == 2, float, T>>;
};
template <class T>
using Wide = typename WideOf<T>::Type;
