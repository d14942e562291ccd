#pragma once

#include "joined.cuh"

// ScatterElements: the data with an element replaced (or joined) at every index along an axis.
struct ScatterElements_node {
  int64_t rank, axis, how;
  int64_t data[8], indices[8];  // lengths
};

#ifdef __CUDACC__
template <class T, class I>
__device__ T ScatterElements(const ScatterElements_node& of, int64_t i, const T* data, const I* indices,
                             const T* updates) {
  T value = data[i];
  int64_t rest = i, own = 0, first = 0, step = 1, along = 1;
  for (int64_t axis = of.rank - 1; axis >= 0; --axis) {
    const int64_t at = rest % of.data[axis];
    rest /= of.data[axis];
    if (axis == of.axis) {
      own = at;
      along = step;
    } else if (at >= of.indices[axis]) {
      return value;
    } else {
      first += at * step;
    }
    step *= of.indices[axis];
  }
  for (int64_t k = 0; k < of.indices[of.axis]; ++k) {
    const int64_t index = int64_t(indices[first + k * along]);
    if ((index < 0 ? index + of.data[of.axis] : index) == own) value = joined(of.how, value, updates[first + k * along]);
  }
  return value;
}
#else
inline ScatterElements_node ScatterElements_plan(const kw::Node& node, kw::Shape* y, const Given& data,
                                                 const Given& indices, const Given&) {
  *y = data.shape;
  ScatterElements_node of{data.shape.rank, from_front(node.integer("axis"), data.shape.rank), join_of(node), {}, {}};
  for (int i = 0; i < data.shape.rank; ++i) {
    of.data[i] = data.shape[i];
    of.indices[i] = indices.shape[i];
  }
  return of;
}
#endif
