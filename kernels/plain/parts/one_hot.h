#pragma once

#include <kernelwright.h>

#include "axis.h"
#include "normal_axis.h"

// values[0] everywhere but values[1] where the new axis' place is the index; indices out of range give none.
template <class I, class D, class T>
void one_hot(const kw::Node& node, kw::Tensor<const I> indices, kw::Tensor<const D> depth, kw::Tensor<const T> values,
             kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis", -1), indices.rank() + 1);
  kw::Shape shape(axis, indices.shape().dims);
  shape.push(static_cast<int64_t>(depth[0]));
  for (int i = axis; i < indices.rank(); ++i) shape.push(indices.shape(i));
  y.allocate(shape);
  std::fill(y.begin(), y.end(), values[0]);
  const AlongAxis view = along(shape, axis);
  const double length = static_cast<double>(view.length);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      // Indices come in all types of numbers; in double, those out of range of int64 are harmless.
      const double index = std::trunc(static_cast<double>(indices[o * view.inner + i]));
      if (!(index >= -length && index < length)) continue;
      const int64_t place = static_cast<int64_t>(index < 0 ? index + length : index);
      y[(o * view.length + place) * view.inner + i] = values[1];
    }
  }
}
