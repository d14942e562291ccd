// Channels over a whole batch: blocks sum parts of each channel, then the squares around the mean, then all elements
// are moved and scaled; with given statistics the last of these alone.
//
// serves: BatchNormalization
// types: float32
// when: outputs == 1
// order: 10
// fuses: before, after
#pragma once

#include "parts/rows.cuh"

KW_TUNE(BATCH_BLOCK, 256, 128, 256, 512);

constexpr int threads = BATCH_BLOCK;
constexpr int kernels = 2;

struct BatchNormalization_node {
  int64_t images, channels, size, training;
  int64_t parts, each;  // of a channel of an image, and elements of one
  float epsilon;
};

#ifdef __CUDACC__
// Kernel 0 finds the moments of a channel's parts, 1 writes the results. room: moments by part and channel.
template <int kernel, class X, class Y>
__device__ void BatchNormalization(const BatchNormalization_node& of, const X& x, const float* scale, const float* bias,
                                   const float* mean, const float* variance, const Y& y, unsigned char* room) {
  Moments* const moments = reinterpret_cast<Moments*>(room);
  const bool fours = of.size % 4 == 0;
  if constexpr (kernel == 0) {
    // A part of every image of the channel.
    const int64_t begin = blockIdx.y * of.each, left = of.size - begin, width = left < of.each ? left : of.each;
    for (int64_t channel = blockIdx.x; channel < of.channels; channel += gridDim.x) {
      Moments own{0, 0, 0};
      for (int64_t image = 0; image < of.images; ++image) {
        each_few<threads>(x, (image * of.channels + channel) * of.size + begin, width, 1, fours,
                          [&](const float* values, auto count) { own.add(values, count); });
      }
      own = joined_moments<threads>(own, float(of.images * width), shared_floats());
      if (threadIdx.x == 0) moments[blockIdx.y * of.channels + channel] = own;
      __syncthreads();
    }
  } else {
    const int64_t begin = blockIdx.y * of.each, left = of.size - begin, width = left < of.each ? left : of.each;
    for (int64_t line = blockIdx.x; line < of.images * of.channels; line += gridDim.x) {
      const int64_t channel = line % of.channels;
      float middle, around;
      if (of.training != 0) {
        Moments whole = moments[channel];
        for (int64_t part = 1; part < of.parts; ++part) whole.add(moments[part * of.channels + channel]);
        middle = whole.mean, around = whole.squares / whole.count;
      } else {
        middle = mean[channel], around = variance[channel];
      }
      const float factor = scale[channel] / sqrtf(around + of.epsilon), shift = bias[channel];
      write_few<threads>(x, nullptr, y, line * of.size + begin, width, 1, fours,
                         [&](int64_t, float* values, auto count) {
#pragma unroll
                           for (int j = 0; j < count.value; ++j) values[j] = (values[j] - middle) * factor + shift;
                         });
    }
  }
}
#else
inline BatchNormalization_node BatchNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                                       const Given&, const Given&, const Given&, const Given&) {
  y[0] = x.shape;
  const int first = x.shape.rank < 2 ? x.shape.rank : 2;
  BatchNormalization_node of{x.shape[0],
                             x.shape.rank == 1 ? 1 : x.shape[1],
                             x.shape.count(first, x.shape.rank),
                             node.integer("training_mode"),
                             1,
                             0,
                             static_cast<float>(node.real("epsilon", 1e-5))};
  if (x.shape.count() == 0) return of;
  const int64_t wanted = kw::blocks(132 * 8, of.training != 0 ? of.channels : of.images * of.channels);
  const int64_t possible = kw::blocks(of.size, threads * 4);
  of.each = kw::blocks(kw::blocks(of.size, wanted < possible ? wanted : possible), 4) * 4;
  of.parts = kw::blocks(of.size, of.each);
  if (of.training != 0) {
    steps.room = of.parts * of.channels * 12;
    steps.add(0, kw::Dim3(few_blocks(of.channels, 1 << 20), of.parts), threads / 32 * 4);
  }
  steps.add(1, kw::Dim3(few_blocks(of.images * of.channels, 1 << 20), of.parts));
  return of;
}
#endif
