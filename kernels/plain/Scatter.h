#pragma once

#include <kernelwright.h>

#include "parts/normal_axis.h"
#include "parts/pointed.h"

// Scatter: the data with an element replaced at every index along an axis.
template <class T, class I>
void Scatter(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<const T> updates,
             kw::Tensor<T>& y) {
  y.allocate(data.shape());
  std::copy(data.begin(), data.end(), y.data());
  const int axis = normal_axis(node.integer("axis"), data.rank());
  each_pointed(data.shape(), indices, axis, [&](int64_t i, int64_t place) { y[place] = updates[i]; });
}
