#pragma once

#include <kernelwright.h>

#include "parts/extreme_place.h"

// ArgMin: the index of the smallest element along an axis; of equal ones the first, or the last if asked.
template <class T>
void ArgMin(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<int64_t>& y) {
  extreme_place(node, x, y, [](T a, T b) { return a < b; });
}
