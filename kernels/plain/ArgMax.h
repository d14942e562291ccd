#pragma once

#include <kernelwright.h>

#include "parts/extreme_place.h"

// ArgMax: the index of the largest element along an axis; of equal ones the first, or the last if asked.
template <class T>
void ArgMax(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<int64_t>& y) {
  extreme_place(node, x, y, [](T a, T b) { return a > b; });
}
