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

struct ExtremeNode {
  ExtremePlace view;
  int64_t rows;
};
using ArgMax_node = ExtremeNode;
using ArgMin_node = ExtremeNode;

#ifdef __CUDACC__
template <class X, class Y>
__device__ void find(const ExtremeNode& of, const X& x, const Y& y, float sign) {
  const int lane = int(threadIdx.x) % 32;
  const AlongAxis& view = of.view.view;
  const int64_t step = int64_t(gridDim.x) * (threads / 32);
  for (int64_t i = int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32; i < of.rows; i += step) {
    const int64_t first = i / view.inner * view.length * view.inner + i % view.inner;
    float best = 0;
    int64_t place = -1;
    const auto take = [&](float value, int64_t at) {
      if (at < 0) return;
      const bool sooner = of.view.last != 0 ? at > place : at < place;
      if (place < 0 || value > best || (value == best && sooner)) best = value, place = at;
    };
    for (int64_t k = lane; k < view.length; k += 32) take(sign * float(x(first + k * view.inner)), k);
#pragma unroll
    for (int far = 16; far > 0; far /= 2) {
      const float value = __shfl_xor_sync(~0u, best, far);
      const int64_t at = __shfl_xor_sync(~0u, place, far);
      take(value, at);
    }
    if (lane == 0) y(i, place);
  }
}
template <int, class X, class Y>
__device__ void ArgMax(const ExtremeNode& of, const X& x, const Y& y, unsigned char*) {
  find(of, x, y, 1.0f);
}
template <int, class X, class Y>
__device__ void ArgMin(const ExtremeNode& of, const X& x, const Y& y, unsigned char*) {
  find(of, x, y, -1.0f);
}
#else
inline ExtremeNode ArgMax_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  const ExtremePlace view = extreme_place_of(node, y, x);
  if (y->count() > 0) steps.add(0, few_blocks(kw::blocks(y->count(), threads / 32), 1 << 20));
  return {view, y->count()};
}
inline ExtremeNode ArgMin_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return ArgMax_plan(node, steps, y, x);
}
#endif
