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
  int64_t features, in, group, channels, results;  // `group`: features of one
};

#ifdef __CUDACC__
template <int, class X, class Y>
__device__ void Conv(const Conv_node& of, const X& x, const float* w, const float* bias, const Y& y, unsigned char*) {
  for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < of.results; i += int64_t(gridDim.x) * threads) {
    const int64_t line = i / of.window.y_size;
    const int64_t feature = line % of.features, image = line / of.features;
    int32_t at[3];
    of.window.begin_of(uint32_t(i - line * of.window.y_size), at);
    float sum = bias == nullptr ? 0.0f : bias[feature];
    const int64_t first = (image * of.channels + feature / of.group * of.in) * of.window.x_size;
    const float* tap = w + feature * of.in * of.window.w_size;
    for (int64_t c = 0; c < of.in; ++c) {
      const int64_t from = first + c * of.window.x_size;
      int32_t k[3];
      for (k[0] = 0; k[0] < int32_t(of.window.kernel[0].by); ++k[0]) {
        for (k[1] = 0; k[1] < int32_t(of.window.kernel[1].by); ++k[1]) {
#pragma unroll 4
          for (k[2] = 0; k[2] < int32_t(of.window.kernel[2].by); ++k[2], ++tap) {
            const int32_t place = of.window.under(at, k);
            if (place >= 0) sum += *tap * float(x(from + place));
          }
        }
      }
    }
    y(i, sum);
  }
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
  of.results = y->count();
  if (of.results > 0) steps.add(0, few_blocks(kw::blocks(of.results, threads), 1 << 20));
  return of;
}
#endif
