#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/axis.h"

// Concat: tensors one after the other along an axis.
template <class T>
void Concat(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  const int64_t given = node.integer("axis");
  const int axis = static_cast<int>(given < 0 ? given + xs[0].rank() : given);
  kw::Shape shape = xs[0].shape();
  shape[axis] = 0;
  for (const auto& x : xs) shape[axis] += x.shape(axis);
  y.allocate(shape);
  const AlongAxis all = along(shape, axis);
  int64_t begin = 0;
  for (const auto& x : xs) {
    const int64_t block = x.shape(axis) * all.inner;
    for (int64_t o = 0; o < all.outer; ++o) {
      for (int64_t i = 0; i < block; ++i) y[o * all.length * all.inner + begin + i] = x[o * block + i];
    }
    begin += block;
  }
}
