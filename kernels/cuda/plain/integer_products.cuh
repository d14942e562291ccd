#pragma once

#include "common.cuh"

#ifdef __CUDACC__
// Of `count` scales or zero points: the one for all, or that of a slice; 0 where there are none.
template <class S>
__device__ S of_slice(const S* all, int64_t count, int64_t slice) {
  return all == nullptr ? S(0) : all[count == 1 ? 0 : slice];
}
#endif
