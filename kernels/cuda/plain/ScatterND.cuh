#pragma once

#include "joined.cuh"
#include "tuples.cuh"

// ScatterND: the data with a slice replaced (or joined) at every tuple of indices.
struct ScatterND_node {
  Tuples tuples;
  int64_t how;
};

#ifdef __CUDACC__
template <class T, class I>
__device__ T ScatterND(const ScatterND_node& of, int64_t i, const T* data, const I* indices, const T* updates) {
  T value = data[i];
  for (int64_t tuple = 0; tuple < of.tuples.count; ++tuple) {
    if (of.tuples.place(indices, tuple) != i / of.tuples.run) continue;
    value = joined(of.how, value, updates[tuple * of.tuples.run + i % of.tuples.run]);
  }
  return value;
}
#else
inline ScatterND_node ScatterND_plan(const kw::Node& node, kw::Shape* y, const Given& data, const Given& indices,
                                     const Given&) {
  *y = data.shape;
  return {tuples_of(data.shape, indices.shape, 0), join_of(node)};
}
#endif
