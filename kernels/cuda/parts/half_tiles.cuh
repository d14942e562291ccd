// A block's part of a product of matrices of float16 or bfloat16 on Hopper's tensor cores, summed in float32.
//
// Both operands wait in shared memory in STAGES, each as it lies in global memory: along k, or across it. Tensor cores
// take either. Copies are asynchronous where 16 bytes lie side by side and aligned, else a number at a time. A step's
// products run while those of the step before end, so a stage is filled again two steps after it was used.
#pragma once

#include "tensors.cuh"

// ROWS x COLUMNS results a block, 64 rows for each four warps. `left_along_k`: neighbours in k lie side by side in
// global memory, else neighbours in rows; the same of the right operand.
template <bool bfloat, int ROWS, int COLUMNS, int STAGES, bool left_along_k, bool right_along_k>
struct HalfTiles {
  static constexpr int DEPTH = 64;  // 128 bytes
  static constexpr int block = ROWS * 2;
  static constexpr int left_size = ROWS * DEPTH, right_size = COLUMNS * DEPTH, stage_size = left_size + right_size;
  static constexpr int result_pitch = COLUMNS + 4;
  static constexpr int used = STAGES * stage_size * 2, staged = ROWS * result_pitch * 4;
  static constexpr int shared_bytes = (used > staged ? used : staged) + 1024;  // what tensor cores read is aligned
#ifdef __CUDACC__
  // Of an operand LINES rows (or columns) by 64 of k, of which `lines` and `depth` are there; others become 0.
  // `stride`: between neighbours across k, or in k. Where each lies: wgmma_half in kernelwright_cuda.h.
  template <int LINES, bool along_k>
  static __device__ void copy(uint16_t* to, const uint16_t* from, int64_t stride, int lines, int depth, bool wide) {
    const int me = int(threadIdx.x);
    // Runs of 64 numbers: of a line, or of a k and 64 lines.
    constexpr int runs = LINES * DEPTH / 64;
    if (wide) {
      constexpr int step = block / 8;  // a multiple of 8: a thread's runs are mixed alike
      static_assert(runs % step == 0 && DEPTH % step == 0, "all threads copy alike");
      const int i = me % 8 * 8, first = me / 8;
      uint16_t* const place = to + first * 64 + (me % 8 ^ first % 8) * 8;
      const uint16_t* const mine = from + first * stride + i;
      // Most tiles are whole, and need not look at each run.
      const auto copy_runs = [&](auto valid_of) {
#pragma unroll
        for (int n = 0; n < runs / step; ++n) {
          // Which k, beyond the first, and which group of lines; along k only lines.
          const int beyond = along_k ? n * step : n % (DEPTH / step) * step, group = along_k ? 0 : n / (DEPTH / step);
          const int valid = valid_of(first + beyond, group * 64);
          const uint16_t* const at = mine + beyond * stride + group * 64;
          kw::copy_async<16>(place + n * step * 64, valid > 0 ? at : from, valid);
        }
      };
      if (lines >= LINES && depth >= DEPTH) {
        copy_runs([](int, int) { return 16; });
      } else {
        copy_runs([&](int number, int group) {
          const int left = along_k ? (number < lines ? depth - i : 0) : number < depth ? lines - group - i : 0;
          return left <= 0 ? 0 : left < 8 ? left * 2 : 16;
        });
      }
    } else {
      const int i = me % 64;
#pragma unroll 1
      for (int run = me / 64; run < runs; run += block / 64) {
        const int k = run % DEPTH, line = along_k ? run : run / DEPTH * 64;
        const bool there = along_k ? line < lines && i < depth : k < depth && line + i < lines;
        const int64_t at = along_k ? line * stride + i : k * stride + line + i;
        to[run * 64 + (i / 8 ^ run % 8) * 8 + i % 8] = there ? from[at] : uint16_t(0);
      }
    }
  }

  // k goes from `begin` to `end`. start_left(to, k) and start_right(to, k) start the copies of a tile from k on;
  // write(row, column, sums, count) gets all sums inside rows x columns, up to eight of a row at a time, from a column
  // that is a multiple of eight.
  template <class Left, class Right, class Write>
  static __device__ void product(int row0, int column0, int rows, int columns, int begin, int end, Left start_left,
                                 Right start_right, Write write) {
    float* const floats = shared_floats() + (1024 - __cvta_generic_to_shared(shared_floats()) % 1024) % 1024 / 4;
    uint16_t* const shared = reinterpret_cast<uint16_t*>(floats);
    const int me = int(threadIdx.x), lane = me % 32, group = me / 128;
    float sums[COLUMNS / 2] = {};
    const int steps = end > begin ? (end - begin + DEPTH - 1) / DEPTH : 0;
    const auto copy_step = [&](int step) {
      if (step < steps) {
        uint16_t* const to = shared + step % STAGES * stage_size;
        start_left(to, begin + step * DEPTH);
        start_right(to + left_size, begin + step * DEPTH);
      }
      kw::commit_copies();
    };
#pragma unroll
    for (int i = 0; i < STAGES - 2; ++i) copy_step(i);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      // The step's copies are there, and all are done with the products of two steps before.
      kw::wait_copies<STAGES - 3>();
      kw::shared_fence();
      __syncthreads();
      const uint16_t* const stage = shared + step % STAGES * stage_size;
      const uint16_t* const left = stage + group * 64 * DEPTH;
      const uint16_t* const right = stage + left_size;
      kw::mma_fence();
#pragma unroll
      for (int k = 0; k < DEPTH; k += 16) {
        kw::wgmma_half<COLUMNS, bfloat, left_along_k, right_along_k>(sums, left + (left_along_k ? k : k * 64),
                                                                     right + (right_along_k ? k : k * 64), true);
      }
      kw::commit_mma();
      copy_step(step + STAGES - 2);
      kw::wait_mma<1>();
    }
    kw::wait_mma<0>(sums);
    kw::wait_copies<0>();
    __syncthreads();
    // Through shared memory: neighbours write side by side.
    const int row = me / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; ++i)
      floats[(row + i % 4 / 2 * 8) * result_pitch + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
    __syncthreads();
#pragma unroll 1
    for (int at = me; at < ROWS * COLUMNS / 8; at += block) {
      const int r = at / (COLUMNS / 8), c = at % (COLUMNS / 8) * 8, left = columns - column0 - c;
      if (row0 + r >= rows || left <= 0) continue;
      float few[8];
#pragma unroll
      for (int j = 0; j < 8; j += 4) {
        const auto four = pack_at<4>(floats, r * result_pitch + c + j);
#pragma unroll
        for (int l = 0; l < 4; ++l) few[j + l] = four.at[l];
      }
      write(row0 + r, column0 + c, few, left < 8 ? left : 8);
    }
    __syncthreads();
  }
#endif
};
