#pragma once

#include <kernelwright.h>

#include "parts/axis.h"

// Compress: the elements (or slices along an axis) that a condition marks.
template <class T>
void Compress(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const bool> condition, kw::Tensor<T>& y) {
  const int64_t kept = std::count(condition.begin(), condition.end(), true);
  AlongAxis view{1, x.count(), 1};
  kw::Shape shape{kept};
  if (node.has("axis")) {
    const int axis = static_cast<int>(node.integer("axis"));
    view = along(x.shape(), axis);
    shape = x.shape();
    shape[axis] = kept;
  }
  y.allocate(shape);
  T* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t k = 0; k < condition.count(); ++k) {
      if (condition[k]) to = std::copy_n(x.data() + (o * view.length + k) * view.inner, view.inner, to);
    }
  }
}
