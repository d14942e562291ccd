// On Hopper's tensor cores to the precision of float32, by three products of TF32 numbers; short sums without them, and
// long products of few results in parts along k.
//
// serves: MatMul, Gemm
// types: float32
// order: 5
// fuses: after
#pragma once

#include "parts/product.cuh"
#include "parts/tiles.cuh"
#include "parts/wgmma_tiles.cuh"

KW_TUNE(WGMMA_ROWS, 128, 64, 128);
KW_TUNE(WGMMA_COLUMNS, 128, 64, 128);
KW_TUNE(WGMMA_STAGES, 4, 3, 4);
KW_TUNE(WGMMA_PART, 512, 256, 512, 1024);

constexpr int kColumns = WGMMA_COLUMNS;
using Short = Tiles<64, 64, 16, 1024 / (2 * kColumns), 4>;
constexpr int threads = Short::block;
// Fewer terms have a bound that three products do not keep.
constexpr int kShortest = 24;
// Kernels: 0, and 3 to 5 where rows of the left operand lie side by side, columns of the right one do not, or both.
constexpr int kParts = 1, kShort = 2;
constexpr int MatMul_kernels = 3, Gemm_kernels = 6;
template <int kernel>
constexpr bool left_along_k = kernel == 0 || kernel == 4;
template <int kernel>
constexpr bool right_along_k = kernel >= 4;

using MatMul_node = ProductNode;
using Gemm_node = ProductNode;

template <int kernel>
using Wide = WgmmaTiles<WGMMA_ROWS, kColumns, WGMMA_STAGES, left_along_k<kernel>, right_along_k<kernel>>;

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void multiply(const ProductNode& of, const X& x, const float* b, const float* c, const Y& y,
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
      const int row0 = int(down) * WGMMA_ROWS, column0 = int(across) * kColumns;
      constexpr bool along_k = right_along_k<kernel>;
      // Lines of the operands.
      const int64_t left_line = left_along_k<kernel> ? of.a_row : of.a_step,
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
            constexpr int lines = along_k ? kColumns : Tile::DEPTH, run = along_k ? Tile::DEPTH : kColumns;
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
template <int kernel, class X, class Y>
__device__ void MatMul(const ProductNode& of, const X& a, const float* b, const Y& y, unsigned char* room) {
  multiply<kernel>(of, a, b, nullptr, y, room);
}
template <int kernel, class X, class Y>
__device__ void Gemm(const ProductNode& of, const X& a, const float* b, const float* c, const Y& y,
                     unsigned char* room) {
  multiply<kernel>(of, a, b, c, y, room);
}
#else
inline ProductNode plan_product(Steps& steps, ProductNode of) {
  const bool is_short = of.k < kShortest;
  const int kernel = of.a_step == 1 ? (of.b_column == 1 ? 0 : 4) : of.b_column == 1 ? 3 : 5;
  if (!cut(steps, of, is_short ? 64 : WGMMA_ROWS, is_short ? 64 : kColumns, 32, WGMMA_PART)) return of;
  const int shared = kernel >= 4 ? Wide<4>::shared_bytes : Wide<0>::shared_bytes;
  steps.add(is_short ? kShort : kernel, kw::Dim3(of.across * of.down, of.split.parts, few_blocks(of.batches, 65535)),
            is_short ? Short::shared_bytes : shared);
  if (of.split.parts > 1) steps.add(kParts, few_blocks(kw::blocks(of.batches * of.m * of.n, threads)));
  return of;
}
inline ProductNode MatMul_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& a, const Given& b) {
  return plan_product(steps, matmul_of(y, a, b));
}
inline ProductNode Gemm_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& a, const Given& b,
                             const Given& c) {
  return plan_product(steps, gemm_of(node, y, a, b, c));
}
#endif
