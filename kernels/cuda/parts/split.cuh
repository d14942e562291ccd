// A product in parts along k, for results that are too few to keep a GPU busy: each part writes its sums to scratch
// memory, and a second launch adds them up, always in the same order.
#pragma once

#include "tensors.cuh"

struct Split {
  int64_t parts, each;  // and how much of k one of them has
};

#ifdef __CUDACC__
// finish(i, sum) for every result, from the sums of all parts.
template <int block, class F>
__device__ void add_parts(const Split& of, int64_t results, const unsigned char* room, F finish) {
  const float* const sums = reinterpret_cast<const float*>(room);
  for (int64_t i = int64_t(blockIdx.x) * block + threadIdx.x; i < results; i += int64_t(gridDim.x) * block) {
    float sum = sums[i];
    for (int64_t k = 1; k < of.parts; ++k) sum += sums[k * results + i];
    finish(i, sum);
  }
}
#else
// `tiles`: blocks of a whole product. A part has at least `least` of k, in multiples of `depth`.
inline Split split_of(Steps& steps, int64_t tiles, int64_t k, int64_t least, int64_t depth, int64_t results) {
  const int64_t wanted = tiles > 0 ? 264 / tiles : 1, possible = k / least;
  int64_t parts = wanted < possible ? wanted : possible;
  if (parts < 2) return {1, k};
  const int64_t each = kw::blocks(kw::blocks(k, parts), depth) * depth;
  parts = kw::blocks(k, each);
  steps.room = parts > 1 ? parts * results * 4 : 0;
  return {parts, each};
}
#endif
