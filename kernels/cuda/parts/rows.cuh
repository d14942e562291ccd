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
#pragma unroll 4
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
// A number that the compiler knows.
template <int n>
struct Known {
  static constexpr int value = n;
};
// f(elements, how many) for `length` elements from `first` on, `inner` apart: sixteen at once where they lie side by
// side, the first and their number being multiples of four.
template <int block, class X, class F>
__device__ void each_few(const X& x, int64_t first, int64_t length, int64_t inner, bool fours, F f) {
  float values[16];
  if (fours) {
    const bool packs = x.template packs<4>();
    int64_t k = threadIdx.x * 4;
    for (; k + 3 * block * 4 < length; k += block * 16) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const auto four = four_at(x, packs, first + k + n * block * 4);
#pragma unroll
        for (int j = 0; j < 4; ++j) values[n * 4 + j] = four.at[j];
      }
      f(values, Known<16>());
    }
    for (; k < length; k += block * 4) {
      const auto four = four_at(x, packs, first + k);
#pragma unroll
      for (int j = 0; j < 4; ++j) values[j] = four.at[j];
      f(values, Known<4>());
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < length; k += block) {
    values[0] = x(first + k * inner);
    f(values, Known<1>());
  }
}
template <int block, class X, class F>
__device__ void each_few_of_row(const Rows& of, int64_t row, const X& x, F f) {
  each_few<block>(x, of.first(row), of.length, of.inner, of.inner == 1 && of.length % 4 == 0, f);
}

// How many numbers there are, their mean, and their squares around it: of numbers that come a few at a time, without
// the loss of digits that sums of squares have.
struct Moments {
  float count, mean, squares;

  template <int n>
  __device__ void add(const float* values, Known<n>) {
    float sum = 0, around = 0;
#pragma unroll
    for (int j = 0; j < n; ++j) sum += values[j];
    const float own = sum / n;
#pragma unroll
    for (int j = 0; j < n; ++j) around += (values[j] - own) * (values[j] - own);
    add({float(n), own, around});
  }
  __device__ void add(const Moments& more) {
    const float both = count + more.count, far = more.mean - mean, share = more.count / both;
    mean += far * share;
    squares += more.squares + far * far * count * share;
    count = both;
  }
};
// Of all threads of a block, which have `count` numbers in all.
template <int block>
__device__ Moments joined_moments(const Moments& own, float count, float* shared) {
  const float mean = joined<block>(own.count / count * own.mean, shared, JoinSum());
  const float far = own.mean - mean, around = own.count > 0 ? own.squares + own.count * far * far : 0.0f;
  return {count, mean, joined<block>(around, shared, JoinSum())};
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
// f(place of the first, values, how many) puts results in place of the values of `length` elements from `first` on, as
// each_few; `kept`: they were read before.
template <int block, class X, class Y, class F>
__device__ void write_few(const X& x, const float* kept, const Y& y, int64_t first, int64_t length, int64_t inner,
                          bool fours, F f) {
  if (fours) {
    const bool reads = kept == nullptr && x.template packs<4>(), writes = y.template packs<4>();
#pragma unroll 2
    for (int64_t k = threadIdx.x * 4; k < length; k += block * 4) {
      Pack<float, 4> four;
      if (kept != nullptr) {
        four = pack_at<4>(kept, k);
      } else {
        const auto read = four_at(x, reads, first + k);
#pragma unroll
        for (int j = 0; j < 4; ++j) four.at[j] = read.at[j];
      }
      f(first + k, four.at, Known<4>());
      put_four(y, writes, first + k, four);
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < length; k += block) {
    const int64_t i = first + k * inner;
    float value = kept != nullptr ? kept[k] : float(x(i));
    f(i, &value, Known<1>());
    y(i, value);
  }
}
template <int block, class X, class Y, class F>
__device__ void write_row(const Rows& of, int64_t row, const X& x, const float* kept, const Y& y, F f) {
  write_few<block>(x, kept, y, of.first(row), of.length, of.inner, of.inner == 1 && of.length % 4 == 0, f);
}
#endif
