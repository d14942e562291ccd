// Products of matrices in tiles of WgmmaTiles, as a technique's MatMul and Gemm; short sums without tensor cores, and
// long products of few results in parts along k.
#pragma once

#include "product.cuh"
#include "tiles.cuh"
#include "wgmma_tiles.cuh"

// `split`: to the precision of float32. `PART`: at least so much of k has a part.
template <int ROWS, int COLUMNS, int STAGES, int PART, bool split>
struct WgmmaProduct {
  using Short = Tiles<64, 64, 16, 1024 / (2 * COLUMNS), 4>;
  static constexpr int threads = Short::block;
  // Fewer terms have a bound that three products do not keep.
  static constexpr int kShortest = 24;
  // Kernels: 0, and 3 to 5 where rows of the left operand lie side by side, columns of the right one do not, or both.
  static constexpr int kParts = 1, kShort = 2;
  static constexpr bool left_along_k(int kernel) { return kernel == 0 || kernel == 4; }
  static constexpr bool right_along_k(int kernel) { return kernel >= 4; }

  template <int kernel>
  using Wide = WgmmaTiles<ROWS, COLUMNS, STAGES, left_along_k(kernel), right_along_k(kernel), split>;

#ifdef __CUDACC__
  template <int kernel, class X, class Y>
  static __device__ void multiply(const ProductNode& of, const X& x, const float* b, const float* c, const Y& y,
                                  unsigned char* room) {
    const int64_t results = of.batches * of.m * of.n;
    if constexpr (kernel == kParts) {
      add_parts<threads>(of.split, results, room, [&](int64_t i, float sum) { of.finish(y, c, i, sum); });
      return;
    }
    const int64_t part = blockIdx.y;
    int64_t down, across;
    of.tile_of(blockIdx.x, &down, &across);
    const int begin = int(part * of.split.each), end = int(begin + of.split.each < of.k ? begin + of.split.each : of.k);
    float* const sums = reinterpret_cast<float*>(room) + part * results;
    const int rows = int(of.m), columns = int(of.n);
    for (int64_t batch = blockIdx.z; batch < of.batches; batch += gridDim.z) {
      const float* const left = x.from + of.a.at(batch) * of.m * of.k;
      const float* const right = b + of.b.at(batch) * of.k * of.n;
      const auto write = [&](int r, int j, float sum) {
        const int64_t i = (batch * of.m + r) * of.n + j;
        if (of.split.parts > 1) {
          sums[i] = sum;
        } else {
          of.finish(y, c, i, sum);
        }
      };
      const auto left_at = [&](int r, int k) { return left[r * of.a_row + k * of.a_step]; };
      const auto right_at = [&](int k, int j) { return right[k * of.b_step + j * of.b_column]; };
      if constexpr (kernel == kShort) {
        Short::template product<true, false>(
            int(down) * 64, int(across) * 64, rows, columns, begin, end, left_at, [](int j) { return j; }, right_at,
            write);
      } else {
        using Tile = Wide<kernel>;
        const int row0 = int(down) * ROWS, column0 = int(across) * COLUMNS;
        constexpr bool along_k = right_along_k(kernel);
        // Lines of the operands.
        const int64_t left_line = left_along_k(kernel) ? of.a_row : of.a_step,
                      right_line = along_k ? of.b_column : of.b_step;
        const bool left_wide = can_pack<4>(left) && left_line % 4 == 0;
        const bool right_wide = can_pack<4>(right) && right_line % 4 == 0;
        Tile::product(
            row0, column0, rows, columns, begin, end,
            [&](float* to, int k) {
              const float* const from = left + row0 * of.a_row + k * of.a_step;
              Tile::copy_left(to, from, left_line, rows - row0, end - k, left_wide);
            },
            [&](float* to, int k) {
              const float* const from = right + k * of.b_step + column0 * of.b_column;
              constexpr int lines = along_k ? COLUMNS : Tile::DEPTH, run = along_k ? Tile::DEPTH : COLUMNS;
              copy_lines<lines, run, threads>(to, Tile::right_pitch, from, right_line,
                                              along_k ? columns - column0 : end - k,
                                              along_k ? end - k : columns - column0, right_wide);
            },
            [&](int r, int j) {
              float sum = 0;
              for (int k = begin; k < end; ++k) sum += left_at(r, k) * right_at(k, j);
              return sum;
            },
            [](int j) { return j; }, write);
      }
    }
  }
#else
  static ProductNode plan(Steps& steps, ProductNode of) {
    const bool is_short = of.k < kShortest;
    const int kernel = of.a_step == 1 ? (of.b_column == 1 ? 0 : 4) : of.b_column == 1 ? 3 : 5;
    if (!cut(steps, of, is_short ? 64 : ROWS, is_short ? 64 : COLUMNS, 32, PART)) return of;
    const int shared = kernel >= 4 ? Wide<4>::shared_bytes : Wide<0>::shared_bytes;
    steps.add(is_short ? kShort : kernel, kw::Dim3(of.across * of.down, of.split.parts, few_blocks(of.batches, 65535)),
              is_short ? Short::shared_bytes : shared);
    if (of.split.parts > 1) steps.add(kParts, few_blocks(kw::blocks(of.batches * of.m * of.n, threads)));
    return of;
  }
#endif
};
