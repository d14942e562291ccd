#pragma once

#include <kernelwright.h>

// Where element `index` of a tensor with shape `to` comes from.
inline int64_t broadcast_index(int64_t index, const kw::Shape& to, const kw::Shape& steps) {
  int64_t from = 0;
  for (int axis = to.rank - 1; axis >= 0; --axis) {
    from += index % to.dims[axis] * steps.dims[axis];
    index /= to.dims[axis];
  }
  return from;
}
