// One block a row: each thread sums a few neighbours, warps and the block scan those sums by shuffles, and the block
// carries what it has to the next stretch. Rows that lie side by side instead are a thread's each.
//
// serves: CumSum, CumProd
// types: float32
// order: 10
// fuses: before, after
#pragma once

#include "parts/rows.cuh"

KW_TUNE(SCAN_BLOCK, 256, 128, 256, 512);

constexpr int threads = SCAN_BLOCK;
constexpr int kernels = 2;
constexpr int kEach = 4;

struct ScanNode {
  Rows rows;
  int64_t exclusive, reverse;
};
using CumSum_node = ScanNode;
using CumProd_node = ScanNode;

#ifdef __CUDACC__
template <int kernel, class X, class Y, class Join>
__device__ void scan(const ScanNode& of, const X& x, const Y& y, float start, Join join) {
  const int64_t length = of.rows.length, inner = of.rows.inner;
  // Position k of the scan is this element of the row.
  const auto place = [&](int64_t k) { return (of.reverse != 0 ? length - 1 - k : k) * inner; };
  if constexpr (kernel == 1) {
    for (int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x; row < of.rows.count;
         row += int64_t(gridDim.x) * threads) {
      const int64_t first = of.rows.first(row);
      float sum = start;
      for (int64_t k = 0; k < length; ++k) {
        const int64_t i = first + place(k);
        const float before = sum;
        sum = join(sum, x(i));
        y(i, of.exclusive != 0 ? before : sum);
      }
    }
    return;
  }
  const bool fours = inner == 1 && length % kEach == 0, reads = fours && x.template packs<kEach>();
  const bool writes = fours && y.template packs<kEach>();
  float* const warps = shared_floats();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int64_t row = blockIdx.x; row < of.rows.count; row += gridDim.x) {
    const int64_t first = of.rows.first(row);
    float carried = start;
    for (int64_t begin = 0; begin < length; begin += threads * kEach) {
      const int64_t mine = begin + int64_t(threadIdx.x) * kEach;
      float values[kEach], own = start;
      const int64_t lowest = first + (of.reverse != 0 ? length - kEach - mine : mine);  // where fours lie
      if (fours && mine < length) {
        const auto four = four_at(x, reads, lowest);
#pragma unroll
        for (int j = 0; j < kEach; ++j) values[j] = four.at[of.reverse != 0 ? kEach - 1 - j : j];
      } else {
#pragma unroll
        for (int j = 0; j < kEach; ++j) values[j] = mine + j < length ? float(x(first + place(mine + j))) : start;
      }
#pragma unroll
      for (int j = 0; j < kEach; ++j) own = join(own, values[j]);
      float sum = own;  // of this and all lanes before
#pragma unroll
      for (int far = 1; far < 32; far *= 2) {
        const float other = __shfl_up_sync(~0u, sum, unsigned(far));
        if (lane >= far) sum = join(other, sum);
      }
      float before = __shfl_up_sync(~0u, sum, 1u);
      if (lane == 0) before = start;
      __syncthreads();
      if (lane == 31) warps[warp] = sum;
      __syncthreads();
      float ahead = carried;
      for (int w = 0; w < threads / 32; ++w) {
        if (w == warp) before = join(ahead, before);
        ahead = join(ahead, warps[w]);
      }
      carried = ahead;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const float upto = join(before, values[j]);
        values[j] = of.exclusive != 0 ? before : upto;
        before = upto;
      }
      if (fours && mine < length) {
        Pack<float, kEach> four;
#pragma unroll
        for (int j = 0; j < kEach; ++j) four.at[j] = of.reverse != 0 ? values[kEach - 1 - j] : values[j];
        put_four(y, writes, lowest, four);
      } else {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          if (mine + j < length) y(first + place(mine + j), values[j]);
        }
      }
    }
  }
}
template <int kernel, class X, class Axis, class Y>
__device__ void CumSum(const ScanNode& of, const X& x, const Axis*, const Y& y, unsigned char*) {
  scan<kernel>(of, x, y, 0.0f, [](float a, float b) { return a + b; });
}
template <int kernel, class X, class Axis, class Y>
__device__ void CumProd(const ScanNode& of, const X& x, const Axis*, const Y& y, unsigned char*) {
  scan<kernel>(of, x, y, 1.0f, [](float a, float b) { return a * b; });
}
#else
inline ScanNode CumSum_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& axis) {
  *y = x.shape;
  const AlongAxis view = along(x.shape, axis.data == nullptr ? 0 : axis.integer(0));
  ScanNode of{{view.length == 0 ? 0 : x.shape.count() / view.length, view.length, view.inner, 0},
              node.integer("exclusive"),
              node.integer("reverse")};
  if (of.rows.count == 0) return of;
  if (view.inner == 1) {
    steps.add(0, few_blocks(of.rows.count, 1 << 20), threads / 32 * 4);
  } else {
    steps.add(1, few_blocks(kw::blocks(of.rows.count, threads), 1 << 20));
  }
  return of;
}
inline ScanNode CumProd_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& axis) {
  return CumSum_plan(node, steps, y, x, axis);
}
#endif
