#pragma once

#include "common.cuh"

// What an operator needs to know that only gives its elements another shape: nothing.
struct SameElements {
  int64_t none;
};

#ifndef __CUDACC__
// The axes that a constant or the attribute `axes` names.
struct NamedAxes {
  bool has[8] = {};
  bool any = false;
};
inline NamedAxes axes_named(const kw::Node& node, const Given& axes, int rank) {
  NamedAxes named;
  const auto add = [&](int64_t axis) { named.has[from_front(axis, rank)] = named.any = true; };
  if (axes.data != nullptr) {
    for (int64_t i = 0; i < axes.shape.count(); ++i) add(axes.integer(i));
  } else {
    for (int64_t axis : node.integers("axes")) add(axis);
  }
  return named;
}
#endif
