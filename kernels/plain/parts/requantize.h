#pragma once

#include <kernelwright.h>

// A sum of products of quantised numbers brought to the scale and zero point of the result: halves to even, cut to the
// range of its type.
template <class Q>
Q requantized(int32_t sum, float multiplier, Q zero) {
  constexpr float kLow = std::numeric_limits<Q>::min(), kHigh = std::numeric_limits<Q>::max();
  return Q(std::clamp(std::nearbyint(float(sum) * multiplier) + float(zero), kLow, kHigh));
}
