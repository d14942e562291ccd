#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"

// ReduceMax: the largest element along the axes.
template <class T>
void ReduceMax(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  T start;
  if constexpr (std::is_integral_v<T>) {
    start = std::numeric_limits<T>::lowest();
  } else {
    start = T(-INFINITY);
  }
  reduce_axes(
      node, x, axes, y, start, [](T best, T value) { return std::max(best, value); },
      [](T best, int64_t) { return best; });
}
