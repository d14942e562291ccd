#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/broadcast_all.h"
#include "parts/wide.h"

// Mean: the mean of all inputs, broadcast.
template <class T>
void Mean(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W n = W(xs.size());
  broadcast_all<W>(
      node, xs, y, [](W p, W q) { return p + q; }, [n](W sum) { return sum / n; });
}
