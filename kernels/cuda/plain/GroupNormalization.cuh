#pragma once

#include "moments.cuh"

// GroupNormalization: groups of channels of every image moved and scaled to mean 0 and variance 1, then scaled and
// shifted.
struct GroupNormalization_node {
  int64_t channels, together, size;  // of an image; of a group; elements of a channel
  int64_t by_group;                  // before opset 21 scale and bias belonged to groups and not to channels
  double epsilon;
};

#ifdef __CUDACC__
template <class T>
__device__ T GroupNormalization(const GroupNormalization_node& of, int64_t i, const T* x, const T* scale,
                                const T* bias) {
  const int64_t whole = of.together * of.size, channel = i / of.size % of.channels;
  const Moments group = moments_of(x + i / whole * whole, whole);
  const int64_t at = of.by_group != 0 ? channel / of.together : channel;
  return T((double(x[i]) - group.mean) / sqrt(group.variance + of.epsilon) * double(scale[at]) + double(bias[at]));
}
#else
inline GroupNormalization_node GroupNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&,
                                                       const Given&) {
  *y = x.shape;
  return {x.shape[1], x.shape[1] / node.integer("num_groups", 1), x.shape.count(2, x.shape.rank),
          node.integer("opset") < 21 ? 1 : 0, node.real("epsilon", 1e-5)};
}
#endif
