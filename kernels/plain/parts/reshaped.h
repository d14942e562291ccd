#pragma once

#include <kernelwright.h>

#include "given_integers.h"
#include "named_axes.h"

// The shapes that Reshape, Squeeze and Unsqueeze give to the same elements.

// 0 copies a length, -1 takes what is left.
[[maybe_unused]] inline kw::Shape reshaped(const kw::Node& node, const kw::Shape& from,
                                           kw::Tensor<const int64_t> shape) {
  kw::Shape to;
  int open = -1;
  for (int64_t length : given_integers(node, shape, "shape")) {
    if (length == 0 && node.integer("allowzero") == 0) length = from[to.rank];
    if (length == -1) open = to.rank;
    to.push(length == -1 ? 1 : length);
  }
  if (open >= 0) to[open] = from.count() / to.count();
  return to;
}

[[maybe_unused]] inline kw::Shape squeezed(const kw::Node& node, const kw::Shape& from,
                                           kw::Tensor<const int64_t> axes) {
  const bool all = !axes.given() && !node.has("axes");
  const auto named = named_axes(given_integers(node, axes, "axes"), from.rank);
  kw::Shape to;
  for (int axis = 0; axis < from.rank; ++axis) {
    if (!(all ? from[axis] == 1 : named[axis])) to.push(from[axis]);
  }
  return to;
}

[[maybe_unused]] inline kw::Shape unsqueezed(const kw::Node& node, const kw::Shape& from,
                                             kw::Tensor<const int64_t> axes) {
  const kw::List<int64_t> list = given_integers(node, axes, "axes");
  const int rank = from.rank + static_cast<int>(list.size());
  const auto named = named_axes(list, rank);
  kw::Shape to;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) to.push(named[axis] ? 1 : from[next++]);
  return to;
}
