#pragma once

#include <kernelwright.h>

#include "parts/normal_axis.h"
#include "parts/pointed.h"

// GatherElements: for every index the element that it points to along an axis.
template <class T, class I>
void GatherElements(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  y.allocate(indices.shape());
  const int axis = normal_axis(node.integer("axis"), data.rank());
  each_pointed(data.shape(), indices, axis, [&](int64_t i, int64_t place) { y[i] = data[place]; });
}
