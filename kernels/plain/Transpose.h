#pragma once

#include <kernelwright.h>

#include "parts/copy_strided.h"
#include "parts/strides.h"

// Transpose: the axes in another order, by default the reverse.
template <class T>
void Transpose(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const kw::List<int64_t> perm = node.integers("perm");
  const kw::Shape strides = strides_of(x.shape());
  kw::Shape shape, steps;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
    shape.push(x.shape(axis));
    steps.push(strides[axis]);
  }
  y.allocate(shape);
  copy_strided(x.data(), shape, steps, y.data());
}
