#pragma once

#include "common.cuh"

// BatchNormalization with given means and variances: each channel moved and scaled by them, then scaled and shifted.
struct BatchNormalization_node {
  int64_t channels, size;
  double epsilon;
};

#ifdef __CUDACC__
template <class T, class S, class M>
__device__ T BatchNormalization(const BatchNormalization_node& of, int64_t i, const T* x, const S* scale, const S* bias,
                                const M* mean, const M* variance) {
  const int64_t channel = i / of.size % of.channels;
  const double factor = double(scale[channel]) / sqrt(double(variance[channel]) + of.epsilon);
  return T((double(x[i]) - double(mean[channel])) * factor + double(bias[channel]));
}
#else
inline BatchNormalization_node BatchNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&,
                                                       const Given&, const Given&, const Given&) {
  *y = x.shape;
  const int first = x.shape.rank < 2 ? x.shape.rank : 2;
  return {x.shape.rank == 1 ? 1 : x.shape[1], x.shape.count(first, x.shape.rank), node.real("epsilon", 1e-5)};
}
#endif
