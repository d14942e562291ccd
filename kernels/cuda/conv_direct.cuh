// One thread an output, for kernels of few channels: a depthwise convolution has no product worth its tiles.
//
// serves: Conv
// types: float32
// when: rank0 >= 3 && rank0 <= 5 && length1_1 <= 8
// order: 5
// fuses: before, after
#pragma once

#include "parts/convolution.cuh"

KW_TUNE(DIRECT_BLOCK, 128, 64, 128, 256);

constexpr int threads = DIRECT_BLOCK;

struct Conv_node {
  Sliding window;
  Strips strips;
  int64_t features, in, group, channels;  // `group`: features of one
};

#ifdef __CUDACC__
template <int, class X, class Y>
__device__ void Conv(const Conv_node& of, const X& x, const float* w, const float* bias, const Y& y, unsigned char*) {
  const uint32_t me = blockIdx.x * threads + threadIdx.x;
  if (me >= uint32_t(of.strips.all)) return;
  int32_t at[3];
  uint32_t four;
  const int64_t line = of.strips.count.divide(me, &four);
  of.strips.begin_of(four, at);
  const int64_t feature = line % of.features, image = line / of.features;
  float sums[Strips::kFour] = {};
  const int64_t first = (image * of.channels + feature / of.group * of.in) * of.window.x_size;
  const float* const taps = w + feature * of.in * of.window.w_size;
  for (int64_t c = 0; c < of.in; ++c) {
    of.strips.each_tap(of.window, at, [&](int j, int32_t place, int32_t tap) {
      sums[j] += taps[c * of.window.w_size + tap] * float(x(first + c * of.window.x_size + place));
    });
  }
  of.strips.each_result(of.window, at, [&](int j, const int32_t*, int32_t place) {
    y(line * of.window.y_size + place, bias == nullptr ? sums[j] : sums[j] + bias[feature]);
  });
}
#else
inline Conv_node Conv_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& w,
                           const Given&) {
  const PlainConv plain = plain_conv(node, y, x, w);
  Conv_node of{};
  if (!sliding_of(plain.windows, &of.window, steps)) return of;
  of.features = plain.features;
  of.in = plain.in;
  of.group = plain.group;
  of.channels = plain.channels;
  if (y->count() > 0) of.strips = strips_of(steps, of.window, x.shape[0] * of.features, threads);
  return of;
}
#endif
