// Tiles in shared memory, small squares of results in registers, the next tile loaded while this one is multiplied;
// long products of few results in parts along k.
//
// serves: MatMul, Gemm
// types: float32
// order: 10
// fuses: after
#pragma once

#include "parts/product.cuh"
#include "parts/tiles.cuh"

KW_TUNE(PRODUCT_ROWS, 128, 64, 128);
KW_TUNE(PRODUCT_COLUMNS, 128, 64, 128);
KW_TUNE(PRODUCT_DEPTH, 8, 8, 16);
KW_TUNE(PRODUCT_HIGH, 8, 4, 8);
KW_TUNE(PRODUCT_WIDE, 8, 4, 8);
KW_TUNE(PRODUCT_PART, 512, 256, 512, 1024);
KW_REQUIRE(PRODUCT_ROWS* PRODUCT_COLUMNS / (PRODUCT_HIGH * PRODUCT_WIDE) <= 512);

using Tile = Tiles<PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_DEPTH, PRODUCT_HIGH, PRODUCT_WIDE>;
constexpr int threads = Tile::block;
constexpr int MatMul_kernels = 2, Gemm_kernels = 5;  // 1 adds up parts; 2 to 4: operands that lie the other way

using MatMul_node = ProductNode;
using Gemm_node = ProductNode;

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void multiply(const ProductNode& of, const X& a, const float* b, const float* c, const Y& y,
                         unsigned char* room) {
  const auto finish = [&](int64_t i, float sum) { of.finish(y, c, i, sum); };
  const int64_t results = of.batches * of.m * of.n;
  if constexpr (kernel == 1) {
    add_parts<threads>(of.split, results, room, finish);
    return;
  }
  const int64_t part = blockIdx.y;
  int64_t down, across;
  of.tile_of(blockIdx.x, &down, &across);
  const int row0 = int(down * PRODUCT_ROWS), column0 = int(across * PRODUCT_COLUMNS);
  const int64_t begin = part * of.split.each, end = begin + of.split.each < of.k ? begin + of.split.each : of.k;
  float* const sums = reinterpret_cast<float*>(room) + part * results;
  for (int64_t batch = blockIdx.z; batch < of.batches; batch += gridDim.z) {
    const int64_t left = of.a.at(batch) * of.m * of.k;
    const float* const right = b + of.b.at(batch) * of.k * of.n;
    Tile::template product<kernel == 0 || kernel == 3, kernel >= 3>(
        row0, column0, int(of.m), int(of.n), int(begin), int(end),
        [&](int r, int k) { return float(a(left + r * of.a_row + k * of.a_step)); }, [](int j) { return j; },
        [&](int k, int j) { return right[k * of.b_step + j * of.b_column]; },
        [&](int r, int j, float sum) {
          const int64_t i = (batch * of.m + r) * of.n + j;
          if (of.split.parts > 1) {
            sums[i] = sum;
          } else {
            finish(i, sum);
          }
        });
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
  if (!cut(steps, of, PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_DEPTH, PRODUCT_PART)) return of;
  // How the operands lie.
  steps.add((of.a_step == 1 ? 0 : 2) + (of.b_column == 1 ? 0
                                        : of.a_step == 1 ? 3
                                                         : 2),
            kw::Dim3(of.across * of.down, of.split.parts, few_blocks(of.batches, 65535)), Tile::shared_bytes);
  if (of.split.parts > 1) steps.add(1, few_blocks(kw::blocks(of.batches * of.m * of.n, threads)));
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
