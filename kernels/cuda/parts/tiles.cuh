// A block's part of a product of matrices in float32: tiles of both operands in shared memory, of which the next one is
// loaded while this one is multiplied, and a small square of results in each thread's registers.
//
// Operands are functions: left(row, k) and right(k, place(column)) are asked for what lies inside only, so that a
// convolution is a product whose right operand is made up while it is read; place(column) is computed once. A
// tensor-core path replaces `multiply` and keeps the rest: tiles lie in shared memory as k x row and k x column.
#pragma once

#include "tensors.cuh"

// ROWS x COLUMNS results a block, DEPTH of k at a time; a thread has `high` x `wide` of them.
template <int ROWS, int COLUMNS, int DEPTH, int high, int wide>
struct Tiles {
  static constexpr int block = ROWS / high * (COLUMNS / wide);
  // One float more in a row: threads that write side by side in k hit different banks.
  static constexpr int left_pitch = ROWS + 4, right_pitch = COLUMNS + 4;
  static constexpr int one = DEPTH * (left_pitch + right_pitch);  // floats of a stage
  // Two stages, or a row of results of each thread.
  static constexpr int shared_bytes = (2 * one > ROWS / high * COLUMNS ? 2 * one : ROWS / high * COLUMNS) * 4;
#ifdef __CUDACC__
  static constexpr int left_loads = ROWS * DEPTH / block, right_loads = COLUMNS * DEPTH / block;
  static_assert(left_loads * block == ROWS * DEPTH && right_loads * block == COLUMNS * DEPTH,
                "a tile has a whole number of loads");
  static_assert(high % 4 == 0 && wide % 4 == 0, "results are read by fours");

  // write(row, column, sum) for every result of this block inside rows x columns, k from `begin` to `end`.
  // `left_along_k`: neighbours in k lie side by side in memory; else neighbours in rows. The same of the right operand.
  template <bool left_along_k, bool right_along_k, class Left, class Place, class Right, class Write>
  static __device__ void product(int row0, int column0, int rows, int columns, int begin, int end, Left left,
                                 Place place, Right right, Write write) {
    float* const shared = shared_floats();
    const int me = int(threadIdx.x);
    float sums[high][wide] = {};
    float next_left[left_loads], next_right[right_loads];
    // Which element of a tile load n of this thread is.
    const auto left_place = [&](int n, int& r, int& k) {
      const int at = n * block + me;
      r = left_along_k ? at / DEPTH : at % ROWS;
      k = left_along_k ? at % DEPTH : at / ROWS;
    };
    const auto right_place = [&](int n, int& k, int& c) {
      const int at = n * block + me;
      c = right_along_k ? at / DEPTH : at % COLUMNS;
      k = right_along_k ? at % DEPTH : at / COLUMNS;
    };
    decltype(place(int())) places[right_loads];
#pragma unroll
    for (int n = 0; n < right_loads; ++n) {
      int k, c;
      right_place(n, k, c);
      places[n] = place(column0 + c < columns ? column0 + c : 0);
    }
    const auto load = [&](int k0) {
#pragma unroll
      for (int n = 0; n < left_loads; ++n) {
        int r, k;
        left_place(n, r, k);
        next_left[n] = row0 + r < rows && k0 + k < end ? left(row0 + r, k0 + k) : 0.0f;
      }
#pragma unroll
      for (int n = 0; n < right_loads; ++n) {
        int k, c;
        right_place(n, k, c);
        next_right[n] = column0 + c < columns && k0 + k < end ? right(k0 + k, places[n]) : 0.0f;
      }
    };
    const auto keep = [&](float* stage) {
#pragma unroll
      for (int n = 0; n < left_loads; ++n) {
        int r, k;
        left_place(n, r, k);
        stage[k * left_pitch + r] = next_left[n];
      }
#pragma unroll
      for (int n = 0; n < right_loads; ++n) {
        int k, c;
        right_place(n, k, c);
        stage[DEPTH * left_pitch + k * right_pitch + c] = next_right[n];
      }
    };
    // Results of a thread stand in fours, spread over the tile: threads side by side read side by side.
    constexpr int across = COLUMNS / wide;
    const int tx = me % across * 4, ty = me / across * 4;
    const auto multiply = [&](const float* stage) {
#pragma unroll
      for (int k = 0; k < DEPTH; ++k) {
        float a[high], b[wide];
#pragma unroll
        for (int i = 0; i < high; i += 4) {
          const auto four = pack_at<4>(stage, k * left_pitch + ty + i / 4 * (ROWS / (high / 4)));
#pragma unroll
          for (int j = 0; j < 4; ++j) a[i + j] = four.at[j];
        }
#pragma unroll
        for (int i = 0; i < wide; i += 4) {
          const auto four =
              pack_at<4>(stage, DEPTH * left_pitch + k * right_pitch + tx + i / 4 * (COLUMNS / (wide / 4)));
#pragma unroll
          for (int j = 0; j < 4; ++j) b[i + j] = four.at[j];
        }
#pragma unroll
        for (int i = 0; i < high; ++i) {
#pragma unroll
          for (int j = 0; j < wide; ++j) sums[i][j] += a[i] * b[j];
        }
      }
    };
    load(begin);
    keep(shared);
    __syncthreads();
    int stage = 0;
    for (int k = begin; k < end; k += DEPTH) {
      const bool more = end - k > DEPTH;
      if (more) load(k + DEPTH);
      multiply(shared + stage * one);
      if (more) keep(shared + (1 - stage) * one);
      stage = 1 - stage;
      __syncthreads();
    }
    // Through shared memory, a row of each thread at a time: neighbours write side by side, and what follows a result
    // is in the code once for each of these rows and not for each result.
#pragma unroll
    for (int i = 0; i < high; ++i) {
#pragma unroll
      for (int j = 0; j < wide; j += 4) {
#pragma unroll
        for (int l = 0; l < 4; ++l) shared[ty / 4 * COLUMNS + tx + j / 4 * (COLUMNS / (wide / 4)) + l] = sums[i][j + l];
      }
      __syncthreads();
#pragma unroll 1
      for (int at = me; at < ROWS / high * COLUMNS; at += block) {
        const int row = row0 + at / COLUMNS * 4 + i / 4 * (ROWS / (high / 4)) + i % 4, column = column0 + at % COLUMNS;
        if (row < rows && column < columns) write(row, column, shared[at]);
      }
      __syncthreads();
    }
  }
#endif
};
