#pragma once

#include "../plain/GroupNormalization.cuh"
#include "moments.cuh"

#ifdef __CUDACC__
template <class T>
__device__ void GroupNormalization_block(const GroupNormalization_node& of, int64_t row, T* y, const T* x,
                                         const T* scale, const T* bias) {
  const int64_t whole = of.together * of.size, begin = row * whole;
  const Moments group = moments_by_all(x + begin, whole);
  const double root = sqrt(group.variance + of.epsilon);
  for (int64_t i = begin + threadIdx.x; i < begin + whole; i += BLOCK) {
    const int64_t channel = i / of.size % of.channels, at = of.by_group != 0 ? channel / of.together : channel;
    y[i] = T((double(x[i]) - group.mean) / root * double(scale[at]) + double(bias[at]));
  }
}
#else
inline int64_t GroupNormalization_rows(const GroupNormalization_node& of, const kw::Shape* y) {
  const int64_t whole = of.together * of.size;
  return whole == 0 ? 0 : y[0].count() / whole;
}
#endif
