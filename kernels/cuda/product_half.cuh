// float16 and bfloat16 on Hopper's tensor cores, summed in float32; long products of few results in parts along k.
//
// serves: MatMul, Gemm
// types: float16, bfloat16
// order: 5
#pragma once

#include "parts/half_tiles.cuh"
#include "parts/product.cuh"

KW_TUNE(HALF_ROWS, 128, 64, 128);
KW_TUNE(HALF_COLUMNS, 256, 64, 128, 256);
KW_TUNE(HALF_STAGES, 4, 3, 4);
KW_TUNE(HALF_PART, 512, 256, 512, 1024);

constexpr int threads = HALF_ROWS * 2;
// Kernels: 0, 2, 3 and 4 by how the operands lie, and 1, which adds up parts.
constexpr int kParts = 1;
constexpr int MatMul_kernels = 2, Gemm_kernels = 5;

using MatMul_node = ProductNode;
using Gemm_node = ProductNode;

template <bool bfloat, int kernel>
using HalfTile =
    HalfTiles<bfloat, HALF_ROWS, HALF_COLUMNS, HALF_STAGES, kernel == 0 || kernel == 3, kernel == 3 || kernel == 4>;

#ifdef __CUDACC__
template <class T>
constexpr bool is_bfloat = false;
template <>
constexpr bool is_bfloat<BFloat16> = true;

template <class T>
__device__ inline T rounded(float sum) {
  T value;
  value.bits = is_bfloat<T> ? kw::bfloat16_bits(sum) : kw::float16_bits(sum);
  return value;
}

template <class T>
__device__ inline float widened(T value) {
  return is_bfloat<T> ? __uint_as_float(uint32_t(value.bits) << 16) : float(value);
}

template <int kernel, class X, class T, class Y>
__device__ void multiply(const ProductNode& of, const X& x, const T* b, const T* c, const Y& y, unsigned char* room) {
  const int64_t results = of.batches * of.m * of.n;
  const auto finished = [&](int64_t i, float sum) {
    const float product = of.alpha * sum;
    return rounded<T>(of.has_c != 0 ? product + of.beta * widened(c[of.c.at(i)]) : product);
  };
  if constexpr (kernel == kParts) {
    add_parts<threads>(of.split, results, room, [&](int64_t i, float sum) { y(i, finished(i, sum)); });
  } else {
    using Tile = HalfTile<is_bfloat<T>, kernel>;
    constexpr bool left_along_k = kernel == 0 || kernel == 3, right_along_k = kernel >= 3;
    const int64_t part = blockIdx.y;
    int64_t down, across;
    of.tile_of(blockIdx.x, &down, &across);
    const int row0 = int(down) * HALF_ROWS, column0 = int(across) * HALF_COLUMNS;
    const int rows = int(of.m), columns = int(of.n);
    const int begin = int(part * of.split.each), end = int(begin + of.split.each < of.k ? begin + of.split.each : of.k);
    float* const sums = reinterpret_cast<float*>(room) + part * results;
    const bool packs = y.template packs<8>() && of.n % 8 == 0;
    const int64_t left_line = left_along_k ? of.a_row : of.a_step, right_line = right_along_k ? of.b_column : of.b_step;
    for (int64_t batch = blockIdx.z; batch < of.batches; batch += gridDim.z) {
      const auto* const left = reinterpret_cast<const uint16_t*>(x.from) + of.a.at(batch) * of.m * of.k;
      const auto* const right = reinterpret_cast<const uint16_t*>(b) + of.b.at(batch) * of.k * of.n;
      const bool left_wide = can_pack<8>(left) && left_line % 8 == 0;
      const bool right_wide = can_pack<8>(right) && right_line % 8 == 0;
      Tile::product(
          row0, column0, rows, columns, begin, end,
          [&](uint16_t* to, int k) {
            Tile::template copy<HALF_ROWS, left_along_k>(to, left + row0 * of.a_row + k * of.a_step, left_line,
                                                         rows - row0, end - k, left_wide);
          },
          [&](uint16_t* to, int k) {
            Tile::template copy<HALF_COLUMNS, right_along_k>(to, right + k * of.b_step + column0 * of.b_column,
                                                             right_line, columns - column0, end - k, right_wide);
          },
          [&](int r, int j, const float(&few)[8], int count) {
            const int64_t i = (batch * of.m + r) * of.n + j;
            if (of.split.parts > 1) {
#pragma unroll
              for (int l = 0; l < 8; ++l) {
                if (l < count) sums[i + l] = few[l];
              }
            } else if (count == 8 && packs) {
              Pack<T, 8> made;
#pragma unroll
              for (int l = 0; l < 8; ++l) made.at[l] = finished(i + l, few[l]);
              y.template pack<8>(i, made);
            } else {
#pragma unroll
              for (int l = 0; l < 8; ++l) {
                if (l < count) y(i + l, finished(i + l, few[l]));
              }
            }
          });
    }
  }
}
template <int kernel, class X, class T, class Y>
__device__ void MatMul(const ProductNode& of, const X& a, const T* b, const Y& y, unsigned char* room) {
  multiply<kernel>(of, a, b, static_cast<const T*>(nullptr), y, room);
}
template <int kernel, class X, class T, class Y>
__device__ void Gemm(const ProductNode& of, const X& a, const T* b, const T* c, const Y& y, unsigned char* room) {
  multiply<kernel>(of, a, b, c, y, room);
}
#else
inline ProductNode plan_product(Steps& steps, ProductNode of) {
  if (!cut(steps, of, HALF_ROWS, HALF_COLUMNS, 64, HALF_PART)) return of;
  const bool left_along_k = of.a_step == 1, right_along_k = of.b_column != 1;
  const int kernel = left_along_k ? (right_along_k ? 3 : 0) : right_along_k ? 4 : 2;
  steps.add(kernel, kw::Dim3(of.across * of.down, of.split.parts, few_blocks(of.batches, 65535)),
            HalfTile<true, 0>::shared_bytes);
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
