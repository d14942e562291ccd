#pragma once

#include "moments.cuh"

// InstanceNormalization: each channel of each image moved and scaled to mean 0 and variance 1, then scaled and shifted.
struct InstanceNormalization_node {
  int64_t channels, size;
  double epsilon;
};

#ifdef __CUDACC__
template <class T>
__device__ T InstanceNormalization(const InstanceNormalization_node& of, int64_t i, const T* x, const T* scale,
                                   const T* bias) {
  const int64_t channel = i / of.size % of.channels;
  const Moments group = moments_of(x + i / of.size * of.size, of.size);
  return T((double(x[i]) - group.mean) * (double(scale[channel]) / sqrt(group.variance + of.epsilon)) +
           double(bias[channel]));
}
#else
inline InstanceNormalization_node InstanceNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                                             const Given&, const Given&) {
  *y = x.shape;
  return {x.shape[1], x.shape.count(2, x.shape.rank), node.real("epsilon", 1e-5)};
}
#endif
