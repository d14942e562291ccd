#pragma once

#include <kernelwright.h>

// The p-norm of numbers is the p-th root of the sum of their magnitudes' p-th powers.
template <class W>
W magnitude_power(W x, int64_t p) {
  if (p == 1) return std::abs(x);
  return p == 2 ? x * x : std::pow(std::abs(x), W(p));
}

template <class W>
W root_of_powers(W sum, int64_t p) {
  if (p == 1) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / W(p));
}
