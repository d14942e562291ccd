#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceL1: the sum of the magnitudes along the axes.
template <class T>
void ReduceL1(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  reduce_axes(
      node, x, axes, y, W(0), [](W sum, T value) { return value < T(0) ? sum - W(value) : sum + W(value); },
      [](W sum, int64_t) { return sum; });
}
