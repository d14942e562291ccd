// One thread an output: neighbours read overlapping windows from the cache.
//
// serves: MaxPool, AveragePool, LpPool
// types: float32
// when: rank0 >= 3 && rank0 <= 5 && outputs == 1
// order: 10
// fuses: before, after
#pragma once

#include "parts/sliding.cuh"

KW_TUNE(POOL_BLOCK, 128, 64, 128, 256);

constexpr int threads = POOL_BLOCK;

struct PoolNode {
  Sliding window;
  Strips strips;
  int64_t lines;       // images times channels
  int32_t counted[3];  // how far from the image's beginning elements count; with `before` of them ahead of it
  int32_t before[3];
  int32_t p;
};
using MaxPool_node = PoolNode;
using AveragePool_node = PoolNode;
using LpPool_node = PoolNode;

#ifdef __CUDACC__
// finish(result, its coordinates, fold of all elements under the window) for every result.
template <class X, class Fold, class F>
__device__ void pool(const PoolNode& of, const X& x, float start, Fold fold, F finish) {
  const uint32_t me = blockIdx.x * threads + threadIdx.x;
  if (me >= uint32_t(of.strips.all)) return;
  int32_t first[3];
  uint32_t four;
  const int64_t line = of.strips.count.divide(me, &four);
  of.strips.begin_of(four, first);
  float values[Strips::kFour];
#pragma unroll
  for (int j = 0; j < Strips::kFour; ++j) values[j] = start;
  of.strips.each_tap(of.window, first, [&](int j, int32_t place, int32_t) {
    values[j] = fold(values[j], float(x(line * of.window.x_size + place)));
  });
  of.strips.each_result(of.window, first, [&](int j, const int32_t* at, int32_t place) {
    finish(line * of.window.y_size + place, at, values[j]);
  });
}
template <int, class X, class Y>
__device__ void MaxPool(const PoolNode& of, const X& x, const Y& y, unsigned char*) {
  pool(
      of, x, __int_as_float(int(0xff800000)), [](float a, float b) { return a < b || b != b ? b : a; },
      [&](int64_t i, const int32_t*, float value) { y(i, value); });
}
template <int, class X, class Y>
__device__ void AveragePool(const PoolNode& of, const X& x, const Y& y, unsigned char*) {
  pool(
      of, x, 0.0f, [](float a, float b) { return a + b; },
      [&](int64_t i, const int32_t* at, float value) {
        int32_t count = 1;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
          const int32_t begin = at[axis] * of.window.stride[axis] - of.window.pad[axis],
                        step = of.window.dilation[axis];
          const int32_t taps = int32_t(of.window.kernel[axis].by);
          // The first and the last tap that count.
          const int32_t low = begin < -of.before[axis] ? (-of.before[axis] - begin + step - 1) / step : 0;
          const int32_t high = (of.counted[axis] - 1 - begin) / step;
          count *= (high < taps - 1 ? high : taps - 1) - low + 1;
        }
        y(i, value / float(count));
      });
}
template <int, class X, class Y>
__device__ void LpPool(const PoolNode& of, const X& x, const Y& y, unsigned char*) {
  pool(
      of, x, 0.0f,
      [&](float a, float b) {
        return a + (of.p == 1 ? fabsf(b) : of.p == 2 ? b * b : powf(fabsf(b), float(of.p)));
      },
      [&](int64_t i, const int32_t*, float value) {
        y(i, of.p == 1 ? value : of.p == 2 ? sqrtf(value) : powf(value, 1 / float(of.p)));
      });
}
#else
inline PoolNode plan_pool(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  *y = kw::Shape{x.shape[0], x.shape[1]};
  const Windows windows =
      sliding_windows(node, x.shape, node.integers("kernel_shape").begin(), node.integer("ceil_mode") != 0, y);
  PoolNode of{};
  if (!sliding_of(windows, &of.window, steps)) return of;
  const bool padded = node.integer("count_include_pad") != 0;
  for (int i = 0; i < 3; ++i) {
    const int from = i - (3 - static_cast<int>(windows.axes));
    of.before[i] = padded && from >= 0 ? static_cast<int32_t>(windows.pad[from]) : 0;
    of.counted[i] = of.window.input[i] + (padded && from >= 0 ? static_cast<int32_t>(windows.pad_end[from]) : 0);
  }
  of.p = static_cast<int32_t>(node.integer("p", 2));
  if (y->count() > 0) of.strips = strips_of(steps, of.window, x.shape[0] * x.shape[1], threads);
  return of;
}
inline PoolNode MaxPool_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return plan_pool(node, steps, y, x);
}
inline PoolNode AveragePool_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return plan_pool(node, steps, y, x);
}
inline PoolNode LpPool_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return plan_pool(node, steps, y, x);
}
#endif
