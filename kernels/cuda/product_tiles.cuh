// Tiles in shared memory, small squares of results in registers, the next tile loaded while this one is multiplied;
// long products of few results in parts along k.
//
// serves: MatMul, Gemm
// types: float32
// order: 10
// fuses: after
#pragma once

#include "parts/split.cuh"
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

struct ProductNode {
  int64_t m, n, k;
  int64_t a_row, a_step, b_step, b_column;  // strides
  Spread a, b;                              // which matrix of the operands
  int64_t batches;
  int64_t across, down;  // tiles
  Split split;
  float alpha, beta;
  int64_t has_c;
  Spread c;
};
using MatMul_node = ProductNode;
using Gemm_node = ProductNode;

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void multiply(const ProductNode& of, const X& a, const float* b, const float* c, const Y& y,
                         unsigned char* room) {
  const auto finish = [&](int64_t i, float sum) {
    const float product = of.alpha * sum;
    y(i, of.has_c != 0 ? product + of.beta * c[of.c.at(i)] : product);
  };
  const int64_t results = of.batches * of.m * of.n;
  if constexpr (kernel == 1) {
    add_parts<threads>(of.split, results, room, finish);
    return;
  }
  const int64_t part = blockIdx.y;
  // Blocks that run together share rows and columns: they go down in stripes of eight tiles.
  const int64_t stripe = 8 * of.across, first = blockIdx.x / stripe * 8;
  const int64_t here = of.down - first < 8 ? of.down - first : 8, within = blockIdx.x % stripe;
  const int row0 = int((first + within % here) * PRODUCT_ROWS), column0 = int(within / here * PRODUCT_COLUMNS);
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
inline void plan_product(Steps& steps, ProductNode& of) {
  of.across = kw::blocks(of.n, PRODUCT_COLUMNS);
  of.down = kw::blocks(of.m, PRODUCT_ROWS);
  const int64_t results = of.batches * of.m * of.n, tiles = of.across * of.down;
  if (results == 0) return;
  of.split = split_of(steps, tiles * of.batches, of.k, PRODUCT_PART, PRODUCT_DEPTH, results);
  const int64_t most = (int64_t{1} << 31) - PRODUCT_ROWS - PRODUCT_COLUMNS;
  if (of.m >= most || of.n >= most || of.k >= most) steps.cannot = "a matrix is longer than this kernel counts";
  // How the operands lie.
  steps.add((of.a_step == 1 ? 0 : 2) + (of.b_column == 1 ? 0
                                        : of.a_step == 1 ? 3
                                                         : 2),
            kw::Dim3(tiles, of.split.parts, few_blocks(of.batches, 65535)), Tile::shared_bytes);
  if (of.split.parts > 1) steps.add(1, few_blocks(kw::blocks(results, threads)));
}
inline ProductNode MatMul_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& a, const Given& b) {
  ProductNode of{};
  of.m = a.shape.rank > 1 ? a.shape[-2] : 1;
  of.k = a.shape[-1];
  of.n = b.shape.rank > 1 ? b.shape[-1] : 1;
  of.a_row = of.k;
  of.a_step = of.b_column = 1;
  of.b_step = of.n;
  of.alpha = 1;
  const auto stack = [](const kw::Shape& shape) { return kw::Shape(shape.rank > 2 ? shape.rank - 2 : 0, shape.dims); };
  const kw::Shape batch = broadcast(stack(a.shape), stack(b.shape));
  of.a = spread_to(stack(a.shape), batch);
  of.b = spread_to(stack(b.shape), batch);
  of.batches = batch.count();
  *y = batch;
  if (a.shape.rank > 1) y->push(of.m);
  if (b.shape.rank > 1) y->push(of.n);
  // A stack of matrices times one matrix is one tall matrix.
  if (b.shape.rank <= 2 && a.shape.rank > 2) {
    of.m *= of.batches;
    of.batches = 1;
    of.a = spread_to({}, {});
  }
  plan_product(steps, of);
  return of;
}
inline ProductNode Gemm_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& a, const Given& b,
                             const Given& c) {
  ProductNode of{};
  const bool at = node.integer("transA") != 0, bt = node.integer("transB") != 0;
  of.m = a.shape[at ? 1 : 0];
  of.k = a.shape[at ? 0 : 1];
  of.n = b.shape[bt ? 0 : 1];
  *y = kw::Shape{of.m, of.n};
  of.a_row = at ? 1 : of.k;
  of.a_step = at ? of.m : 1;
  of.b_step = bt ? 1 : of.n;
  of.b_column = bt ? of.k : 1;
  of.a = of.b = spread_to({}, {});
  of.batches = 1;
  of.alpha = static_cast<float>(node.real("alpha", 1));
  of.beta = static_cast<float>(node.real("beta", 1));
  of.has_c = c.there ? 1 : 0;
  if (c.there) of.c = spread_to(c.shape, *y);
  plan_product(steps, of);
  return of;
}
#endif
