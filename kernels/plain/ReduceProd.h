#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceProd: the product of the elements along the axes.
template <class T>
void ReduceProd(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  reduce_axes(
      node, x, axes, y, W(1), [](W product, T value) { return product * W(value); },
      [](W product, int64_t) { return product; });
}
