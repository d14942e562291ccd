#pragma once

#include <kernelwright.h>

#include "parts/normal_axis.h"

// Flatten: as a matrix, the axes before `axis` its rows, the others its columns.
template <class T>
void Flatten(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis", 1), x.rank());
  y.allocate({x.shape().count(0, axis), x.shape().count(axis, x.rank())});
  std::copy(x.begin(), x.end(), y.data());
}
