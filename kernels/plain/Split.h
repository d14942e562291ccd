#pragma once

#include <kernelwright.h>

#include "parts/runs_of_slices.h"

// Split: parts along an axis, of given lengths, or equal but for the last.
template <class T>
void Split(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> split,
           const std::vector<kw::Tensor<T>*>& ys) {
  split_runs(node, x, split, ys, [](const T* from, int64_t count, T* to) { return std::copy_n(from, count, to); });
}
