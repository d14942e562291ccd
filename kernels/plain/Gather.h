#pragma once

#include <kernelwright.h>

#include "parts/runs_of_slices.h"

// Gather: slices of the data along an axis, in the order of the indices.
template <class T, class I>
void Gather(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  gather_runs(node, data, indices, y, [](const T* from, int64_t count, T* to) { return std::copy_n(from, count, to); });
}
