#pragma once

#include "along_axis.cuh"

// OneHot: a new axis, of which the place that the index names is on and all others are off.
using OneHot_node = AlongAxis;

#ifdef __CUDACC__
template <class I, class D, class T>
__device__ T OneHot(const OneHot_node& of, int64_t i, const I* indices, const D*, const T* values) {
  const double length = double(of.length);
  const double index = trunc(double(indices[i / of.inner / of.length * of.inner + i % of.inner]));
  if (!(index >= -length && index < length)) return values[0];
  const int64_t place = int64_t(index < 0 ? index + length : index);
  return values[i / of.inner % of.length == place ? 1 : 0];
}
#else
inline OneHot_node OneHot_plan(const kw::Node& node, kw::Shape* y, const Given& indices, const Given& depth,
                               const Given&) {
  const int axis = from_front(node.integer("axis", -1), indices.shape.rank + 1);
  *y = kw::Shape(axis, indices.shape.dims);
  y->push(depth.data == nullptr ? 0 : static_cast<int64_t>(depth.number(0)));
  for (int i = axis; i < indices.shape.rank; ++i) y->push(indices.shape[i]);
  return along(*y, axis);
}
#endif
