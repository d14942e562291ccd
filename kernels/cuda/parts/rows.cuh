// Rows for blocks: a tensor as outer x length x inner, a row being the elements along `length`.
#pragma once

#include "../plain/along_axis.cuh"
#include "warps.cuh"

struct Rows {
  int64_t count;   // of rows
  int64_t length;  // of a row
  int64_t inner;   // from one element of a row to the next
  int64_t whole;   // a row is read once, into shared memory
#ifdef __CUDACC__
  __device__ int64_t first(int64_t row) const {
    return inner == 1 ? row * length : row / inner * inner * length + row % inner;
  }
#endif
};

// Shared memory before a row's elements, in floats: what `joined` needs.
constexpr int kRowPrefix = 32;

#ifndef __CUDACC__
// One block a row, as many rows one after the other as there are more of them than a GPU holds blocks.
inline Rows rows_of(Steps& steps, int kernel, int64_t count, const AlongAxis& view, int64_t most_shared) {
  Rows rows{view.length == 0 ? 0 : count / view.length, view.length, view.inner, 0};
  const int64_t bytes = (view.length + kRowPrefix) * 4;
  rows.whole = bytes <= most_shared;
  if (rows.count > 0) steps.add(kernel, few_blocks(rows.count, 1 << 20), rows.whole != 0 ? bytes : kRowPrefix * 4);
  return rows;
}
#else
// f(position in the row, element) for all elements of a row, by all threads of a block: from memory, four at a time
// where they lie so, keeping them in `kept` unless that is null.
template <int block, class X, class F>
__device__ void each_of_row(const Rows& of, int64_t row, const X& x, float* kept, F f) {
  const int64_t first = of.first(row);
  if (of.inner == 1 && of.length % 4 == 0) {
    const bool packs = x.template packs<4>();
    for (int64_t k = threadIdx.x * 4; k < of.length; k += block * 4) {
      const auto four = four_at(x, packs, first + k);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (kept != nullptr) kept[k + j] = four.at[j];
        f(k + j, four.at[j]);
      }
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < of.length; k += block) {
    const float value = x(first + k * of.inner);
    if (kept != nullptr) kept[k] = value;
    f(k, value);
  }
}
// The same a second time: the thread that read an element has kept it.
template <int block, class X, class F>
__device__ void each_again(const Rows& of, int64_t row, const X& x, float* kept, F f) {
  if (kept == nullptr) return each_of_row<block>(of, row, x, nullptr, f);
  if (of.inner == 1 && of.length % 4 == 0) {
    for (int64_t k = threadIdx.x * 4; k < of.length; k += block * 4) {
#pragma unroll
      for (int j = 0; j < 4; ++j) f(k + j, kept[k + j]);
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < of.length; k += block) f(k, kept[k]);
}
#endif
