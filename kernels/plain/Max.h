#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/broadcast_all.h"

// Max: the largest of all inputs, broadcast.
template <class T>
void Max(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  const auto join = [](T p, T q) { return p < q ? q : p; };
  broadcast_all<T>(node, xs, y, join, [](T joined) { return joined; });
}
