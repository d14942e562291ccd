#pragma once

#include <kernelwright.h>

#include "parts/join.h"
#include "parts/normal_axis.h"
#include "parts/pointed.h"

// ScatterElements: the data with an element replaced (or joined) at every index along an axis.
template <class T, class I>
void ScatterElements(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices,
                     kw::Tensor<const T> updates, kw::Tensor<T>& y) {
  y.allocate(data.shape());
  std::copy(data.begin(), data.end(), y.data());
  const int axis = normal_axis(node.integer("axis"), data.rank());
  with_join<T>(node, [&](auto join) {
    each_pointed(data.shape(), indices, axis, [&](int64_t i, int64_t place) { join(y[place], updates[i]); });
  });
}
