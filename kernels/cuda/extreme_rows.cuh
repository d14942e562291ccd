// A warp a row looks for its best element and keeps where that is: of equal ones the first, or the last.
//
// serves: ArgMax, ArgMin
// types: float32
// order: 10
// fuses: before
#pragma once

#include "parts/tensors.cuh"
#include "plain/extreme_place.cuh"

KW_TUNE(EXTREME_BLOCK, 256, 128, 256, 512);

constexpr int threads = EXTREME_BLOCK;
constexpr int kernels = 2;

struct ExtremeNode {
  ExtremePlace view;
  int64_t rows;
};
using ArgMax_node = ExtremeNode;
using ArgMin_node = ExtremeNode;

#ifdef __CUDACC__
// The best so far, and where it is; -1: none yet.
struct Best {
  float value;
  int64_t place;

  __device__ void take(float other, int64_t at, bool last) {
    if (at < 0) return;
    const bool sooner = last ? at > place : at < place;
    if (place < 0 || other > value || (other == value && sooner)) value = other, place = at;
  }
};

// Kernel 0 has a warp find each result, 1 has neighbours find neighbouring results of rows that lie side by side.
template <int kernel, class X, class Y>
__device__ void find(const ExtremeNode& of, const X& x, const Y& y, float sign) {
  const AlongAxis& view = of.view.view;
  const bool last = of.view.last != 0;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  constexpr int warps = threads / 32;
  const auto first_of = [&](int64_t i) { return i / view.inner * view.length * view.inner + i % view.inner; };
  if constexpr (kernel == 0) {
    for (int64_t i = int64_t(blockIdx.x) * warps + warp; i < of.rows; i += int64_t(gridDim.x) * warps) {
      const int64_t first = first_of(i);
      Best best{0, -1};
#pragma unroll 4
      for (int64_t k = lane; k < view.length; k += 32) best.take(sign * float(x(first + k * view.inner)), k, last);
#pragma unroll
      for (int far = 16; far > 0; far /= 2) {
        const float value = __shfl_xor_sync(~0u, best.value, far);
        const int64_t at = __shfl_xor_sync(~0u, best.place, far);
        best.take(value, at, last);
      }
      if (lane == 0) y(i, best.place);
    }
  } else {
    Best* const shared = reinterpret_cast<Best*>(shared_floats());
    for (int64_t begin = int64_t(blockIdx.x) * 32; begin < of.rows; begin += int64_t(gridDim.x) * 32) {
      const int64_t i = begin + lane, first = i < of.rows ? first_of(i) : 0;
      Best best{0, -1};
      if (i < of.rows) {
#pragma unroll 8
        for (int64_t k = warp; k < view.length; k += warps) best.take(sign * float(x(first + k * view.inner)), k, last);
      }
      shared[threadIdx.x] = best;
      __syncthreads();
      if (warp == 0 && i < of.rows) {
        for (int w = 1; w < warps; ++w) best.take(shared[w * 32 + lane].value, shared[w * 32 + lane].place, last);
        y(i, best.place);
      }
      __syncthreads();
    }
  }
}
template <int kernel, class X, class Y>
__device__ void ArgMax(const ExtremeNode& of, const X& x, const Y& y, unsigned char*) {
  find<kernel>(of, x, y, 1.0f);
}
template <int kernel, class X, class Y>
__device__ void ArgMin(const ExtremeNode& of, const X& x, const Y& y, unsigned char*) {
  find<kernel>(of, x, y, -1.0f);
}
#else
inline ExtremeNode ArgMax_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  const ExtremePlace view = extreme_place_of(node, y, x);
  const bool across = view.view.inner > 1;
  const int64_t each = across ? 32 : threads / 32;
  if (y->count() > 0) steps.add(across, few_blocks(kw::blocks(y->count(), each), 1 << 20), across ? threads * 16 : 0);
  return {view, y->count()};
}
inline ExtremeNode ArgMin_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return ArgMax_plan(node, steps, y, x);
}
#endif
