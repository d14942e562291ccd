#pragma once

#include <kernelwright.h>

// How far apart in memory the elements are that follow one another along each axis.
inline kw::Shape strides_of(const kw::Shape& shape) {
  kw::Shape strides = shape;
  for (int axis = 0; axis < shape.rank; ++axis) strides[axis] = shape.count(axis + 1, shape.rank);
  return strides;
}
