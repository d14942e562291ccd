#pragma once

#include <kernelwright.h>

#include "parts/one_hot.h"

// OneHot: a new axis, of which the place that the index names is on and all others are off.
template <class I, class D, class T>
void OneHot(const kw::Node& node, kw::Tensor<const I> indices, kw::Tensor<const D> depth, kw::Tensor<const T> values,
            kw::Tensor<T>& y) {
  one_hot(node, indices, depth, values, y);
}
