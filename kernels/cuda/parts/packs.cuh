// A tensor that is computed element by element, from its first element to its last.
#pragma once

#include "tensors.cuh"

#ifdef __CUDACC__
// The whole tensor: packs of N while they last, `at_once` of a thread at once, then what is left over.
template <int N, int threads, int at_once, class X, class T>
__device__ void write_packs(const X& x, T* y, int64_t count) {
  const int64_t packs = x.template packs<N>() && can_pack<N>(y) ? count / N : 0;
  const int64_t me = int64_t(blockIdx.x) * threads + threadIdx.x, step = int64_t(gridDim.x) * threads;
  constexpr int64_t span = int64_t{threads} * at_once;
  // Few ones are spread over all blocks.
  if (packs <= step) {
    if (me < packs) *reinterpret_cast<Pack<T, N>*>(y + me * N) = x.template pack<N>(me * N);
  } else {
    for (int64_t first = blockIdx.x * span + threadIdx.x; first < packs; first += gridDim.x * span) {
      if (first + (at_once - 1) * threads < packs) {
        Pack<T, N> made[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k) made[k] = x.template pack<N>((first + k * threads) * N);
#pragma unroll
        for (int k = 0; k < at_once; ++k) *reinterpret_cast<Pack<T, N>*>(y + (first + k * threads) * N) = made[k];
      } else {
        for (int64_t i = first; i < packs; i += threads)
          *reinterpret_cast<Pack<T, N>*>(y + i * N) = x.template pack<N>(i * N);
      }
    }
  }
  for (int64_t i = packs * N + me; i < count; i += step) y[i] = x(i);
}
#else
inline int64_t blocks_of_packs(int64_t count, int threads, int at_once) {
  const int64_t blocks = kw::blocks(count, 4 * threads);
  return blocks <= 132 * 8 ? blocks : few_blocks(kw::blocks(blocks, at_once), int64_t{1} << 30);
}
#endif
