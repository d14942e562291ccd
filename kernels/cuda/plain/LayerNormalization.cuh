#pragma once

#include "moments.cuh"

// LayerNormalization: the elements of all axes from one on moved and scaled to mean 0 and variance 1, then scaled and
// shifted.
struct LayerNormalization_node {
  int64_t size;  // of a group
  double epsilon;
  Strided scale, bias;
};

#ifdef __CUDACC__
template <class T>
__device__ T LayerNormalization(const LayerNormalization_node& of, int64_t i, const T* x, const T* scale,
                                const T* bias) {
  const Moments group = moments_of(x + i / of.size * of.size, of.size);
  const double normal = (double(x[i]) - group.mean) / sqrt(group.variance + of.epsilon);
  return T(normal * double(scale[of.scale.at(i)]) + (bias == nullptr ? 0.0 : double(bias[of.bias.at(i)])));
}
#else
inline LayerNormalization_node LayerNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                                       const Given& scale, const Given& bias) {
  *y = x.shape;
  const int axis = from_front(node.integer("axis", -1), x.shape.rank);
  return {x.shape.count(axis, x.shape.rank), node.real("epsilon", 1e-5), broadcast_to(scale.shape, x.shape),
          bias.there ? broadcast_to(bias.shape, x.shape) : Strided{}};
}
#endif
