#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceSumSquare: the sum of the squares along the axes.
template <class T>
void ReduceSumSquare(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  reduce_axes(
      node, x, axes, y, W(0), [](W sum, T value) { return sum + W(value) * W(value); },
      [](W sum, int64_t) { return sum; });
}
