// A block's part of a product of matrices on Hopper's tensor cores: of TF32 numbers, or (`split`) to the precision of
// float32. Then every factor is the sum of two TF32 numbers, and three of their four products are added up (the fourth
// is about 2^-22 of the result).
//
// Tensor cores round sums towards zero, which adds up over a long product of numbers of one sign. So they add up DEPTH
// of k, and what came out is added to the sums by ordinary additions. An infinity times a number's small part is NaN: a
// sum that is not finite is computed again without tensor cores, by `exact`.
//
// Groups of four warps multiply 64 columns each with all ROWS. Columns are what their registers hold, split into large
// and small parts as they are read; rows lie in shared memory, along k. There tensor cores read the upper bits by
// themselves, and what is left over of each number is put beside them while the step before is multiplied. Tiles wait
// in shared memory in STAGES, filled by asynchronous copies.
#pragma once

#include "tensors.cuh"

#ifdef __CUDACC__
// To `to`, as lines of `pitch` floats: of a matrix LINES lines of RUN, of which `lines` and `run` are there; others
// become 0. Sixteen bytes at a time where `wide`.
template <int LINES, int RUN, int block>
__device__ inline void copy_lines(float* to, int pitch, const float* from, int64_t stride, int lines, int run,
                                  bool wide) {
  const int me = int(threadIdx.x);
  if (wide) {
    constexpr int across = RUN / 4, step = block / across;
    const int first = me / across, i = me % across * 4, left = run - i;
    const int bytes = left < 0 ? 0 : left < 4 ? left * 4 : 16;
    const float* at = from + first * stride + i;
    float* const place = to + first * pitch + i;
#pragma unroll
    for (int n = 0; n < LINES / step; ++n, at += step * stride) {
      const int valid = first + n * step < lines ? bytes : 0;
      kw::copy_async<16>(place + n * step * pitch, valid > 0 ? at : from, valid);
    }
  } else {
    constexpr int step = block / RUN > 0 ? block / RUN : 1;
    static_assert(block % RUN == 0, "a line is copied at once");
    const int first = me / RUN, i = me % RUN;
    const float* at = from + first * stride + i;
#pragma unroll 4
    for (int n = 0; n < LINES / step; ++n, at += step * stride) {
      const bool there = first + n * step < lines && i < run;
      kw::copy_async<4>(to + (first + n * step) * pitch + i, there ? at : from, there ? 4 : 0);
    }
  }
}

// Of all numbers but 0 the least, as twice its bits less one: below this a number's small part loses digits.
constexpr uint32_t kNoneSeen = ~0u, kTiny = 14u << 24;
__device__ inline void see(float x, uint32_t& least) { least = min(least, (__float_as_uint(x) << 1) - 1u); }

// A number as two TF32 numbers, the second with what the first leaves over.
__device__ inline void split_tf32(float x, uint32_t& large, uint32_t& small) {
  large = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  small = __float_as_uint(x - __uint_as_float(large));
}
#endif

// ROWS x COLUMNS results a block. `left_along_k`: neighbours in k lie side by side in global memory, else neighbours in
// rows; the same of the right operand.
template <int ROWS, int COLUMNS, int STAGES, bool left_along_k, bool right_along_k, bool split = true>
struct WgmmaTiles {
  static constexpr int DEPTH = 32;           // 128 bytes
  static constexpr int block = COLUMNS * 2;  // threads
  // A line begins so that what a warp reads at once lies in 32 banks.
  static constexpr int right_pitch = right_along_k ? DEPTH + 4 : COLUMNS + 8;
  static constexpr int left_size = ROWS * DEPTH;
  static constexpr int right_size = (right_pitch * (right_along_k ? COLUMNS : DEPTH) + 255) / 256 * 256;
  static constexpr int stage_size = left_size + right_size;
  static constexpr int result_pitch = COLUMNS + 4;
  static constexpr int used = STAGES * stage_size + (split ? 2 * left_size : 0), staged = ROWS * result_pitch;
  static constexpr int shared_bytes = (used > staged ? used : staged) * 4 + 1024;  // what tensor cores read is aligned
#ifdef __CUDACC__
  // As copy_lines, in the order that tensor cores read: along k whatever way the operand lies.
  static __device__ void copy_left(float* to, const float* from, int64_t stride, int rows, int depth, bool wide) {
    const int me = int(threadIdx.x);
    if (left_along_k && wide) {
      constexpr int step = block / 8;  // a multiple of 8: a thread's rows have the same order
      const int first = me / 8, i = me % 8, left = depth - i * 4;
      const int bytes = left < 0 ? 0 : left < 4 ? left * 4 : 16;
      const float* at = from + first * stride + i * 4;
      float* const place = to + first * DEPTH + (i ^ first % 8) * 4;
#pragma unroll
      for (int n = 0; n < ROWS / step; ++n, at += step * stride) {
        const int valid = first + n * step < rows ? bytes : 0;
        kw::copy_async<16>(place + n * step * DEPTH, valid > 0 ? at : from, valid);
      }
    } else {
      if constexpr (left_along_k) {
        constexpr int step = block / DEPTH;  // a multiple of 8 too, or 4
        const int first = me / DEPTH, k = me % DEPTH;
        const float* at = from + first * stride + k;
#pragma unroll 4
        for (int n = 0; n < ROWS / step; ++n, at += step * stride) {
          const int row = first + n * step;
          const bool there = row < rows && k < depth;
          kw::copy_async<4>(to + row * DEPTH + (k / 4 ^ row % 8) * 4 + k % 4, there ? at : from, there ? 4 : 0);
        }
      } else {
        constexpr int step = block / ROWS;
        const int first = me / ROWS, row = me % ROWS;
        const float* at = from + first * stride + row;
#pragma unroll 4
        for (int n = 0; n < DEPTH / step; ++n, at += step * stride) {
          const int k = first + n * step;
          const bool there = row < rows && k < depth;
          kw::copy_async<4>(to + row * DEPTH + (k / 4 ^ row % 8) * 4 + k % 4, there ? at : from, there ? 4 : 0);
        }
      }
    }
  }

  // k goes from `begin` to `end`. start_left(to, k) and start_right(to, k) start the copies of a tile from k on;
  // place(column) is computed once a thread; write(row, place, sum) gets every sum inside rows x columns, and
  // exact(row, column) computes one again.
  template <class Left, class Right, class Exact, class Place, class Write>
  static __device__ void product(int row0, int column0, int rows, int columns, int begin, int end, Left start_left,
                                 Right start_right, Exact exact, Place place, Write write) {
    float* const shared = shared_floats() + (1024 - __cvta_generic_to_shared(shared_floats()) % 1024) % 1024 / 4;
    float* const rests = shared + STAGES * stage_size;  // of rows, of two steps
    const int me = int(threadIdx.x), lane = me % 32, g = lane / 4, t = lane % 4;
    const int column = me / 32 * 16 + g;  // and the one 8 on
    float sums[ROWS / 2] = {};
    uint32_t least = kNoneSeen;
    const int steps = end > begin ? (end - begin + DEPTH - 1) / DEPTH : 0;
    const auto copy = [&](int step) {
      if (step < steps) {
        float* const to = shared + step % STAGES * stage_size;
        start_left(to, begin + step * DEPTH);
        start_right(to + left_size, begin + step * DEPTH);
      }
      kw::commit_copies();
    };
    const auto put_rests = [&](int step) {
      const float* const from = shared + step % STAGES * stage_size;
      float* const to = rests + step % 2 * left_size;
#pragma unroll
      for (int n = 0; n < left_size / 4 / block; ++n) {
        const int at = (n * block + me) * 4;
        auto four = pack_at<4>(from, at);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          see(four.at[j], least);
          four.at[j] -= __uint_as_float(__float_as_uint(four.at[j]) & 0xffffe000u);
        }
        *reinterpret_cast<Pack<float, 4>*>(to + at) = four;
      }
    };
#pragma unroll
    for (int i = 0; i < STAGES - 1; ++i) copy(i);
    kw::wait_copies<STAGES - 2>();
    __syncthreads();
    if (split && steps > 0) put_rests(0);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      // All are done with the step before and have put this one's rests, and the next one's copies are there.
      kw::wait_copies<STAGES - 3>();
      kw::shared_fence();
      __syncthreads();
      const float* const left = shared + step % STAGES * stage_size;
      const float* const right = left + left_size;
      const float* const rest = rests + step % 2 * left_size;
      [[maybe_unused]] float parts[ROWS / 2];
      [[maybe_unused]] uint32_t a[DEPTH / 8][4], small_a[DEPTH / 8][4];
#pragma unroll
      for (int k = 0; k < DEPTH / 8; ++k) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int c = column + j % 2 * 8, at = k * 8 + t + j / 2 * 4;
          const float x = right[right_along_k ? c * right_pitch + at : at * right_pitch + c];
          if constexpr (split) {
            see(x, least);
            split_tf32(x, a[k][j], small_a[k][j]);
          } else {
            a[k][j] = __float_as_uint(x);
          }
        }
      }
      kw::mma_fence();
      if constexpr (split) {
#pragma unroll
        for (int k = 0; k < DEPTH / 8; ++k) {
          kw::wgmma_tf32<ROWS>(parts, small_a[k], left + k * 8, k > 0);
          kw::wgmma_tf32<ROWS>(parts, a[k], rest + k * 8, true);
          kw::wgmma_tf32<ROWS>(parts, a[k], left + k * 8, true);
        }
      } else {
#pragma unroll
        for (int k = 0; k < DEPTH / 8; ++k) kw::wgmma_tf32<ROWS>(sums, a[k], left + k * 8, true);
      }
      kw::commit_mma();
      copy(step + STAGES - 1);
      if constexpr (split) {
        if (step + 1 < steps) put_rests(step + 1);
        kw::wait_mma<0>(parts);
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) sums[i] += parts[i];
      } else {
        kw::wait_mma<0>(sums);
      }
    }
    kw::wait_copies<0>();
    const bool any_tiny = __syncthreads_or(least < kTiny) != 0;
    // Through shared memory: neighbours write side by side, and what follows a result is in the code once.
#pragma unroll
    for (int i = 0; i < ROWS / 2; ++i)
      shared[(i / 4 * 8 + t * 2 + i % 2) * result_pitch + column + i % 4 / 2 * 8] = sums[i];
    __syncthreads();
    const int own = column0 + me % COLUMNS;
    if (own < columns) {
      const auto where = place(own);
      const float* const mine = shared + me % COLUMNS;
      const auto doubtful = [&](float sum) {
        return !isfinite(sum) || (split && fabsf(sum) < 9.1e-13f && (any_tiny || (sum != 0 && fabsf(sum) < 1e-30f)));
      };
      constexpr int together = 4;
      const int last = rows - row0 < ROWS ? rows - row0 : ROWS;
#pragma unroll 1
      for (int r = me / COLUMNS; r < last; r += 2 * together) {
        float few[together];
        bool any = r + 2 * (together - 1) >= last;
#pragma unroll
        for (int j = 0; j < together; ++j) {
          few[j] = r + 2 * j < ROWS ? mine[(r + 2 * j) * result_pitch] : 0.0f;
          any = any || doubtful(few[j]);
        }
        if (!any) {
#pragma unroll
          for (int j = 0; j < together; ++j) write(row0 + r + 2 * j, where, few[j]);
          continue;
        }
#pragma unroll 1
        for (int j = r; j < last && j < r + 2 * together; j += 2) {
          const float sum = mine[j * result_pitch];
          write(row0 + j, where, doubtful(sum) ? exact(row0 + j, own) : sum);
        }
      }
    }
    __syncthreads();
  }
#endif
};
