// A convolution as a product in tiles, weights times windows that are gathered from the image while they are loaded;
// also transposed, where an output gathers the inputs that reach it.
//
// serves: Conv, ConvTranspose
// types: float32
// when: rank0 >= 3 && rank0 <= 5
// order: 10
// fuses: after
#pragma once

#include "parts/convolution.cuh"
#include "parts/split.cuh"
#include "parts/tiles.cuh"

KW_TUNE(CONV_ROWS, 64, 32, 64, 128);
KW_TUNE(CONV_COLUMNS, 128, 64, 128);
KW_TUNE(CONV_DEPTH, 8, 8, 16);
KW_TUNE(CONV_HIGH, 8, 4, 8);
KW_TUNE(CONV_WIDE, 8, 4, 8);
KW_REQUIRE(CONV_ROWS* CONV_COLUMNS / (CONV_HIGH * CONV_WIDE) <= 512);
KW_REQUIRE(CONV_ROWS* CONV_COLUMNS / (CONV_HIGH * CONV_WIDE) >= 64);
KW_REQUIRE(CONV_ROWS* CONV_DEPTH % (CONV_ROWS * CONV_COLUMNS / (CONV_HIGH * CONV_WIDE)) == 0);
KW_REQUIRE(CONV_COLUMNS* CONV_DEPTH % (CONV_ROWS * CONV_COLUMNS / (CONV_HIGH * CONV_WIDE)) == 0);

using Tile = Tiles<CONV_ROWS, CONV_COLUMNS, CONV_DEPTH, CONV_HIGH, CONV_WIDE>;
constexpr int threads = Tile::block;
constexpr int kernels = 2;

struct ConvNode {
  Sliding window;                   // of a transposed one: the input's lengths are `window.input`, strides divide
  int64_t groups, out, in, images;  // features and channels of a group
  int64_t down;
  Divisor y_size, w_size;
  Split split;
};
using Conv_node = ConvNode;
using ConvTranspose_node = ConvNode;

#ifdef __CUDACC__
struct Column {
  int64_t image;
  int32_t at[3];
};

template <bool transposed, int kernel, class X, class Y>
__device__ void convolve(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                         unsigned char* room) {
  const int64_t features = of.groups * of.out, channels = of.groups * of.in;
  const int64_t columns = of.images * of.window.y_size, results = features * columns;
  if constexpr (kernel == 1) {
    add_parts<threads>(of.split, results, room, [&](int64_t i, float sum) {
      y(i, bias == nullptr ? sum : sum + bias[of.y_size.quotient(uint32_t(i)) % features]);
    });
    return;
  }
  const int64_t part = blockIdx.y;
  const int row0 = int(blockIdx.x % of.down * CONV_ROWS), column0 = int(blockIdx.x / of.down * CONV_COLUMNS);
  const int64_t depth = of.in * of.window.w_size;
  const int64_t begin = part * of.split.each, end = begin + of.split.each < depth ? begin + of.split.each : depth;
  float* const sums = reinterpret_cast<float*>(room) + part * results;
  for (int64_t group = blockIdx.z; group < of.groups; group += gridDim.z) {
    Tile::template product<true, false>(
        row0, column0, int(of.out), int(columns), int(begin), int(end),
        [&](int r, int k) {
          if constexpr (!transposed) {
            return w[(group * of.out + r) * depth + k];
          } else {
            uint32_t tap;
            const uint32_t channel = of.w_size.divide(uint32_t(k), &tap);
            return w[((group * of.in + channel) * of.out + r) * of.window.w_size + tap];
          }
        },
        [&](int j) {
          Column column;
          uint32_t place;
          column.image = of.y_size.divide(uint32_t(j), &place);
          of.window.begin_of(place, column.at);
          return column;
        },
        [&](int k, const Column& column) {
          uint32_t tap;
          int32_t taps[3];
          const uint32_t channel = of.w_size.divide(uint32_t(k), &tap);
          of.window.tap_of(tap, taps);
          int32_t from = 0;
          if constexpr (!transposed) {
            from = of.window.under(column.at, taps);
          } else {
            bool inside = true;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
              const int32_t stride = of.window.stride[axis];
              const int32_t p = column.at[axis] + of.window.pad[axis] - taps[axis] * of.window.dilation[axis];
              const int32_t q = stride == 1 ? p : p / stride;
              inside = inside && p >= 0 && q * stride == p && q < of.window.input[axis];
              from = from * of.window.input[axis] + q;
            }
            from = inside ? from : -1;
          }
          return from < 0 ? 0.0f
                          : float(x((column.image * channels + group * of.in + channel) * of.window.x_size + from));
        },
        [&](int r, int j, float sum) {
          uint32_t place;
          const int64_t image = of.y_size.divide(uint32_t(j), &place), feature = group * of.out + r;
          const int64_t i = (image * features + feature) * of.window.y_size + place;
          if (of.split.parts > 1) {
            sums[i] = sum;
          } else {
            y(i, bias == nullptr ? sum : sum + bias[feature]);
          }
        });
  }
}
template <int kernel, class X, class Y>
__device__ void Conv(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                     unsigned char* room) {
  convolve<false, kernel>(of, x, w, bias, y, room);
}
template <int kernel, class X, class Y>
__device__ void ConvTranspose(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                              unsigned char* room) {
  convolve<true, kernel>(of, x, w, bias, y, room);
}
#else
inline void plan_convolution(Steps& steps, ConvNode& of) {
  const int64_t columns = of.images * of.window.y_size, depth = of.in * of.window.w_size;
  of.y_size = Divisor::of(of.window.y_size);
  of.w_size = Divisor::of(of.window.w_size);
  const int64_t results = of.groups * of.out * columns;
  if (columns >= (int64_t{1} << 31) - CONV_COLUMNS || depth >= (int64_t{1} << 31))
    steps.cannot = "more windows than this kernel counts";
  of.split = {1, depth};
  if (results == 0 || steps.cannot != nullptr) return;
  of.down = kw::blocks(of.out, CONV_ROWS);
  const int64_t tiles = of.down * kw::blocks(columns, CONV_COLUMNS);
  if (results < (int64_t{1} << 31)) of.split = split_of(steps, tiles * of.groups, depth, 256, CONV_DEPTH, results);
  steps.add(0, kw::Dim3(tiles, of.split.parts, few_blocks(of.groups, 65535)), Tile::shared_bytes);
  if (of.split.parts > 1) steps.add(1, few_blocks(kw::blocks(results, threads)));
}
inline ConvNode Conv_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& w,
                          const Given&) {
  const PlainConv plain = plain_conv(node, y, x, w);
  ConvNode of{};
  if (!sliding_of(plain.windows, &of.window, steps)) return of;
  of.out = plain.group;
  of.in = plain.in;
  of.groups = of.out > 0 ? plain.features / of.out : 0;
  of.images = x.shape[0];
  plan_convolution(steps, of);
  return of;
}
inline ConvNode ConvTranspose_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& w,
                                   const Given&) {
  const PlainConvTranspose plain = plain_conv_transpose(node, y, x, w);
  // There a convolution is read backwards; here the input is what is read.
  Windows windows = plain.windows;
  for (int i = 0; i < 3; ++i) {
    windows.input[i] = plain.windows.output[i];
    windows.output[i] = plain.windows.input[i];
  }
  ConvNode of{};
  if (!sliding_of(windows, &of.window, steps)) return of;
  of.out = plain.out;
  of.in = plain.in;
  of.groups = of.out > 0 ? plain.features / of.out : 0;
  of.images = x.shape[0];
  plan_convolution(steps, of);
  return of;
}
#endif
