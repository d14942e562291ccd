#pragma once

#include "tuples.cuh"

// GatherND: for every tuple of indices the slice of the data that it points to.
using GatherND_node = Tuples;

#ifdef __CUDACC__
template <class T, class I>
__device__ T GatherND(const GatherND_node& of, int64_t i, const T* x, const I* indices) {
  const int64_t tuple = i / of.run;
  return x[(tuple / of.count * of.slices + of.place(indices, tuple)) * of.run + i % of.run];
}
#else
inline GatherND_node GatherND_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& indices) {
  const int batch = static_cast<int>(node.integer("batch_dims"));
  *y = kw::Shape(indices.shape.rank - 1, indices.shape.dims);
  for (int i = batch + static_cast<int>(indices.shape[-1]); i < x.shape.rank; ++i) y->push(x.shape[i]);
  return tuples_of(x.shape, indices.shape, batch);
}
#endif
