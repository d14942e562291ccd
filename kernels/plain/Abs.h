#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Abs: the magnitude of every element; the lowest integer wraps to itself.
template <class T>
void Abs(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      y[i] = std::is_signed_v<T> && x[i] < 0 ? T(-Wide<T>(x[i])) : x[i];
    } else {
      y[i] = T(std::abs(Wide<T>(x[i])));
    }
  }
}
