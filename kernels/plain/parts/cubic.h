#pragma once

#include <kernelwright.h>

// The weight of an element at a distance in Keys' cubic convolution.
template <class W>
W cubic_weight(W distance, W a) {
  const W d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : W(0);
}
