#pragma once

#include "common.cuh"

// RMSNormalization: the elements of all axes from one on divided by the root of the mean of their squares, then scaled.
struct RMSNormalization_node {
  int64_t size;  // of a group
  double epsilon;
  Strided scale;
};

#ifdef __CUDACC__
template <class T, class S>
__device__ S RMSNormalization(const RMSNormalization_node& of, int64_t i, const T* x, const S* scale) {
  const T* group = x + i / of.size * of.size;
  double squares = 0;
  for (int64_t k = 0; k < of.size; ++k) squares += double(group[k]) * double(group[k]);
  return S(double(x[i]) / sqrt(squares / double(of.size) + of.epsilon) * double(scale[of.scale.at(i)]));
}
#else
inline RMSNormalization_node RMSNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                                   const Given& scale) {
  *y = x.shape;
  const int axis = from_front(node.integer("axis", -1), x.shape.rank);
  return {x.shape.count(axis, x.shape.rank), node.real("epsilon", 1e-5), broadcast_to(scale.shape, x.shape)};
}
#endif
