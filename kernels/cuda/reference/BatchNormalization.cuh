#pragma once

#include "../plain/BatchNormalization.cuh"
#include "moments.cuh"

#ifdef __CUDACC__
template <class T, class Y1, class Y2, class S, class M>
__device__ void BatchNormalization_block(const BatchNormalization_node& of, int64_t channel, T* y, Y1* next_mean,
                                         Y2* next_variance, const T* x, const S* scale, const S* bias, const M* mean,
                                         const M* variance) {
  const int64_t count = of.images * of.size;
  const auto at = [&](int64_t k) { return (k / of.size * of.channels + channel) * of.size + k % of.size; };
  Moments moments{double(mean[channel]), double(variance[channel])};
  if (of.training != 0) moments = moments_by_all(x, count, at);
  const double factor = double(scale[channel]) / sqrt(moments.variance + of.epsilon);
  for (int64_t k = threadIdx.x; k < count; k += BLOCK) {
    const int64_t i = at(k);
    y[i] = T((double(x[i]) - moments.mean) * factor + double(bias[channel]));
  }
  if (of.training == 0 || threadIdx.x != 0) return;
  const auto mixed = [&](double old, double now) { return old * of.momentum + now * (1 - of.momentum); };
  if (next_mean != nullptr) next_mean[channel] = Y1(mixed(double(mean[channel]), moments.mean));
  if (next_variance != nullptr) next_variance[channel] = Y2(mixed(double(variance[channel]), moments.variance));
}
#else
inline int64_t BatchNormalization_rows(const BatchNormalization_node& of, const kw::Shape* y) {
  return y[0].count() == 0 ? 0 : of.channels;
}
#endif
