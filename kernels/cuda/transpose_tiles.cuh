// Axes in another order by square tiles through shared memory: what is read side by side and what is written side by
// side are different axes. Where they are the same one, elements go straight.
//
// serves: Transpose
// types: float32, int32, uint32
// order: 10
// fuses: before, after
#pragma once

#include "parts/tensors.cuh"

KW_TUNE(TRANSPOSE_ROWS, 8, 4, 8, 16);

constexpr int kSide = 32;
constexpr int threads = kSide * TRANSPOSE_ROWS;
constexpr int kernels = 2;

// Axes of the result. `fast`: the one that lies side by side in the input; the last one does so in the result.
struct Transpose_node {
  Strided others;                // where a tile of the two axes begins in the input
  int64_t other_steps[8];        // and in the result, along the same axes
  int64_t count;                 // of all elements
  int64_t fast, last;            // lengths
  int64_t fast_step, last_step;  // of `fast` in the result, of the last axis in the input
  int64_t tiles_fast, tiles_last, tiles;
};

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void Transpose(const Transpose_node& of, const X& x, const Y& y, unsigned char*) {
  using T = typename X::Element;
  if constexpr (kernel == 1) {
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < of.count; i += int64_t(gridDim.x) * threads) {
      y(i, x(of.others.at(i)));
    }
    return;
  }
  T* const tile = reinterpret_cast<T*>(shared_floats());
  const int tx = int(threadIdx.x) % kSide, ty = int(threadIdx.x) / kSide;
  for (int64_t number = blockIdx.x; number < of.tiles; number += gridDim.x) {
    const int64_t last0 = number % of.tiles_last * kSide;
    const int64_t rest = number / of.tiles_last, fast0 = rest % of.tiles_fast * kSide;
    int64_t from = 0, to = 0, which = rest / of.tiles_fast;
    for (int64_t axis = of.others.rank - 1; axis >= 0; --axis) {
      const int64_t at = which % of.others.lengths[axis];
      from += at * of.others.strides[axis];
      to += at * of.other_steps[axis];
      which /= of.others.lengths[axis];
    }
    __syncthreads();
    for (int r = ty; r < kSide; r += TRANSPOSE_ROWS) {
      if (last0 + r < of.last && fast0 + tx < of.fast) {
        tile[r * (kSide + 1) + tx] = x(from + (last0 + r) * of.last_step + fast0 + tx);
      }
    }
    __syncthreads();
    for (int r = ty; r < kSide; r += TRANSPOSE_ROWS) {
      if (fast0 + r < of.fast && last0 + tx < of.last) {
        y(to + (fast0 + r) * of.fast_step + last0 + tx, tile[tx * (kSide + 1) + r]);
      }
    }
  }
}
#else
inline Transpose_node Transpose_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  const kw::List<int64_t> order = node.integers("perm");
  Transpose_node of{};
  *y = kw::Shape();
  int64_t from[8] = {}, to[8] = {};
  for (int i = 0; i < x.shape.rank; ++i) {
    const int axis = order.empty() ? x.shape.rank - 1 - i : static_cast<int>(order[i]);
    from[i] = x.shape.count(axis + 1, x.shape.rank);
    y->push(x.shape[axis]);
  }
  of.count = y->count();
  if (of.count == 0) return of;
  for (int i = 0; i < y->rank; ++i) to[i] = y->count(i + 1, y->rank);
  // Neighbouring axes that stay neighbours are one; axes of length 1 are none.
  int64_t lengths[8], reads[8], writes[8];
  int rank = 0;
  for (int i = 0; i < y->rank; ++i) {
    if ((*y)[i] == 1) continue;
    if (rank > 0 && reads[rank - 1] == (*y)[i] * from[i] && writes[rank - 1] == (*y)[i] * to[i]) {
      lengths[rank - 1] *= (*y)[i];
    } else {
      lengths[rank++] = (*y)[i];
    }
    reads[rank - 1] = from[i];
    writes[rank - 1] = to[i];
  }
  int fast = rank - 1;
  for (int i = 0; i < rank; ++i) {
    if (reads[i] == 1) fast = i;
  }
  if (rank == 0 || fast == rank - 1) {
    of.others.rank = rank;
    for (int i = 0; i < rank; ++i) of.others.lengths[i] = lengths[i], of.others.strides[i] = reads[i];
    steps.add(1, few_blocks(kw::blocks(of.count, threads), 1 << 20));
    return of;
  }
  of.fast = lengths[fast];
  of.fast_step = writes[fast];
  of.last = lengths[rank - 1];
  of.last_step = reads[rank - 1];
  of.tiles_fast = kw::blocks(of.fast, kSide);
  of.tiles_last = kw::blocks(of.last, kSide);
  of.tiles = of.tiles_fast * of.tiles_last;
  for (int i = 0; i + 1 < rank; ++i) {
    if (i == fast) continue;
    const int64_t at = of.others.rank++;
    of.others.lengths[at] = lengths[i];
    of.others.strides[at] = reads[i];
    of.other_steps[at] = writes[i];
    of.tiles *= lengths[i];
  }
  steps.add(0, few_blocks(of.tiles, 1 << 20), kSide * (kSide + 1) * 4);
  return of;
}
#endif
