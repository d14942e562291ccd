#pragma once

#include <kernelwright.h>

#include "axis.h"

// The index along an axis of the element that no other is better than; of equal ones the first, or the last if asked.
template <class T, class Better>
void extreme_place(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<int64_t>& y, Better better) {
  const int64_t axis = node.integer("axis");
  const AlongAxis view = along(x.shape(), axis);
  kw::Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && i != axis + x.rank())
      shape.push(x.shape(i));
    else if (node.integer("keepdims", 1) != 0)
      shape.push(1);
  }
  y.allocate(shape);
  const bool last = node.integer("select_last_index") != 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      T best = from[0];
      int64_t place = 0;
      for (int64_t k = 1; k < view.length; ++k) {
        const T value = from[k * view.inner];
        if (better(value, best) || (last && !better(best, value))) {
          best = value;
          place = k;
        }
      }
      y[o * view.inner + i] = place;
    }
  }
}
