// What kernels of MatMul and Gemm share: where the operands lie, what is done with a sum, and which tile a block has.
#pragma once

#include "split.cuh"

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
#ifdef __CUDACC__
  template <class Y>
  __device__ void finish(const Y& y, const float* plus, int64_t i, float sum) const {
    const float product = alpha * sum;
    y(i, has_c != 0 ? product + beta * plus[c.at(i)] : product);
  }
  // Blocks that run together share rows and columns: they go down in stripes of eight tiles.
  __device__ void tile_of(int64_t number, int64_t* row, int64_t* column) const {
    const int64_t stripe = 8 * across, first = number / stripe * 8;
    const int64_t here = down - first < 8 ? down - first : 8, within = number % stripe;
    *row = first + within % here;
    *column = within / here;
  }
#endif
};

#ifndef __CUDACC__
inline ProductNode matmul_of(kw::Shape* y, const Given& a, const Given& b) {
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
  return of;
}
inline ProductNode gemm_of(const kw::Node& node, kw::Shape* y, const Given& a, const Given& b, const Given& c) {
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
  return of;
}

// The tiles and parts of it; false: there is nothing to launch. `busy`: blocks that a GPU runs at once.
inline bool cut(Steps& steps, ProductNode& of, int rows, int columns, int depth, int64_t least) {
  of.across = kw::blocks(of.n, columns);
  of.down = kw::blocks(of.m, rows);
  const int64_t results = of.batches * of.m * of.n;
  if (results == 0) return false;
  of.split = split_of(steps, of.across * of.down * of.batches, of.k, least, depth, results);
  const int64_t most = (int64_t{1} << 31) - rows - columns;
  if (of.m >= most || of.n >= most || of.k >= most) steps.cannot = "a matrix is longer than this kernel counts";
  return true;
}
#endif
