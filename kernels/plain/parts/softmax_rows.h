#pragma once

#include <kernelwright.h>

#include "axis.h"

// The rows that Softmax and its kin go along: one axis, or before opset 13 all axes from `axis` on as one.
inline AlongAxis softmax_rows(const kw::Node& node, const kw::Shape& shape) {
  if (node.integer("opset") >= 13) return along(shape, node.integer("axis", -1));
  const int64_t given = node.integer("axis", 1);
  const int axis = static_cast<int>(given < 0 ? given + shape.rank : given);
  return {shape.count(0, axis), shape.count(axis, shape.rank), 1};
}
