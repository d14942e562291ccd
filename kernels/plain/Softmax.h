#pragma once

#include <kernelwright.h>

#include "parts/axis.h"

// Softmax: the exponentials along an axis, divided by their sum.
template <class T>
void Softmax(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  AlongAxis view;
  if (node.integer("opset") >= 13) {
    view = along(x.shape(), node.integer("axis", -1));
  } else {  // before, all axes from `axis` on are one
    const int64_t given = node.integer("axis", 1);
    const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
    view = {x.shape().count(0, axis), x.shape().count(axis, x.rank()), 1};
  }
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      T* to = y.data() + o * view.length * view.inner + i;
      float largest = -INFINITY;
      for (int64_t k = 0; k < view.length; ++k) largest = std::max(largest, float(from[k * view.inner]));
      float sum = 0;
      for (int64_t k = 0; k < view.length; ++k) sum += std::exp(float(from[k * view.inner]) - largest);
      for (int64_t k = 0; k < view.length; ++k) {
        to[k * view.inner] = T(std::exp(float(from[k * view.inner]) - largest) / sum);
      }
    }
  }
}
