#pragma once

#include "along_axis.cuh"

#ifdef __CUDACC__
// Running results along a row: each thread joins a stretch, then begins with what the stretches before it gave.
template <class Node, class T, class F>
__device__ void scan_by_all(const Node& of, int64_t row, T* y, const T* x, double nothing, F join) {
  const int64_t begin = row_begin(of.view, row), length = of.view.length, stretch = (length + BLOCK - 1) / BLOCK;
  const int64_t first = int64_t(threadIdx.x) * stretch;
  const int64_t end = first + stretch < length ? first + stretch : length;
  const auto at = [&](int64_t k) { return begin + (of.reverse != 0 ? length - 1 - k : k) * of.view.inner; };
  double own = nothing;
  for (int64_t k = first; k < end; ++k) own = join(own, double(x[at(k)]));
  double* room = block_room();
  room[threadIdx.x] = own;
  __syncthreads();
  double before = nothing;
  for (int i = 0; i < int(threadIdx.x); ++i) before = join(before, room[i]);
  __syncthreads();
  for (int64_t k = first; k < end; ++k) {
    const double with = join(before, double(x[at(k)]));
    y[at(k)] = T(of.exclusive != 0 ? before : with);
    before = with;
  }
}
#endif
