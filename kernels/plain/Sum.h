#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/broadcast_all.h"
#include "parts/wide.h"

// Sum: the sum of all inputs, broadcast.
template <class T>
void Sum(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  using W = Wide<T>;
  broadcast_all<W>(
      node, xs, y, [](W p, W q) { return p + q; }, [](W sum) { return sum; });
}
