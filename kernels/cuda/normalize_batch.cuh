// Channels over a whole batch: blocks find the moments of parts of each channel in one pass, and then all elements
// are moved and scaled; with given statistics the last of these alone.
//
// serves: BatchNormalization
// types: float32
// order: 10
// fuses: before, after
#pragma once

#include "parts/rows.cuh"

KW_TUNE(BATCH_BLOCK, 256, 128, 256, 512);

constexpr int threads = BATCH_BLOCK;
constexpr int kernels = 2, BatchNormalization_results = 3;

struct BatchNormalization_node {
  int64_t images, channels, size, training;
  int64_t parts, each;  // of a channel of an image, and elements of one
  int64_t flat;         // images are small: threads go over all of them
  float epsilon, momentum;
};

#ifdef __CUDACC__
// Kernel 0 finds the moments of a channel's parts, 1 writes the results. room: moments by part and channel.
template <int kernel, class X, class Y>
__device__ void BatchNormalization(const BatchNormalization_node& of, const X& x, const float* scale, const float* bias,
                                   const float* mean, const float* variance, const Y& y, float* new_mean,
                                   float* new_variance, unsigned char* room) {
  Moments* const moments = reinterpret_cast<Moments*>(room);
  const auto moments_of = [&](int64_t channel) {
    Moments whole = moments[channel];
    for (int64_t part = 1; part < of.parts; ++part) whole.add(moments[part * of.channels + channel]);
    return whole;
  };
  const bool fours = of.size % 4 == 0;
  if constexpr (kernel == 0) {
    // A part of every image of the channel.
    const int64_t begin = blockIdx.y * of.each, left = of.size - begin, width = left < of.each ? left : of.each;
    for (int64_t channel = blockIdx.x; channel < of.channels; channel += gridDim.x) {
      Moments own{0, 0, 0};
      if (of.flat != 0) {
        const uint32_t size = uint32_t(of.size);
        for (uint32_t k = threadIdx.x; k < uint32_t(of.images) * size; k += threads) {
          const float value = x((int64_t(k / size) * of.channels + channel) * of.size + k % size);
          own.add(&value, Known<1>());
        }
      } else {
        for (int64_t image = 0; image < of.images; ++image) {
          each_few<threads>(x, (image * of.channels + channel) * of.size + begin, width, 1, fours,
                            [&](const float* values, auto count) { own.add(values, count); });
        }
      }
      own = joined_moments<threads>(own, float(of.images * width), shared_floats());
      if (threadIdx.x == 0) moments[blockIdx.y * of.channels + channel] = own;
      __syncthreads();
    }
  } else {
    // What training leaves behind: the old statistic and the batch's, mixed.
    if (of.training != 0 && blockIdx.y == 0 && threadIdx.x == 0) {
      for (int64_t channel = blockIdx.x; channel < of.channels; channel += gridDim.x) {
        const Moments whole = of.parts > 0 ? moments_of(channel) : Moments{0, not_a_number(), not_a_number()};
        const float old = of.momentum, now = 1 - of.momentum;
        if (new_mean != nullptr) new_mean[channel] = old * mean[channel] + now * whole.mean;
        if (new_variance != nullptr)
          new_variance[channel] = old * variance[channel] + now * (whole.squares / whole.count);
      }
    }
    const int64_t begin = blockIdx.y * of.each, left = of.size - begin, width = left < of.each ? left : of.each;
    // A channel's elements less `middle`, times `factor`, plus `shift`.
    struct Move {
      float middle, factor, shift;
    };
    const auto move_of = [&](int64_t channel) {
      float middle, around;
      if (of.training != 0) {
        const Moments whole = moments_of(channel);
        middle = whole.mean, around = whole.squares / whole.count;
      } else {
        middle = mean[channel], around = variance[channel];
      }
      return Move{middle, scale[channel] / sqrtf(around + of.epsilon), bias[channel]};
    };
    const int64_t lines = of.images * of.channels;
    if (of.flat != 0) {
      const int64_t step = int64_t(gridDim.x) * threads;
      for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < lines * of.size; i += step) {
        const Move move = move_of(i / of.size % of.channels);
        y(i, (float(x(i)) - move.middle) * move.factor + move.shift);
      }
      return;
    }
    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
      const Move move = move_of(line % of.channels);
      write_few<threads>(x, nullptr, y, line * of.size + begin, width, 1, fours,
                         [&](int64_t, float* values, auto count) {
#pragma unroll
                           for (int j = 0; j < count.value; ++j)
                             values[j] = (values[j] - move.middle) * move.factor + move.shift;
                         });
    }
  }
}
#else
inline BatchNormalization_node BatchNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                                       const Given&, const Given&, const Given& mean, const Given&) {
  y[0] = x.shape;
  y[1] = y[2] = mean.shape;
  const int first = x.shape.rank < 2 ? x.shape.rank : 2;
  BatchNormalization_node of{x.shape[0],
                             x.shape.rank == 1 ? 1 : x.shape[1],
                             x.shape.count(first, x.shape.rank),
                             node.integer("training_mode"),
                             0,
                             0,
                             0,
                             static_cast<float>(node.real("epsilon", 1e-5)),
                             static_cast<float>(node.real("momentum", 0.9))};
  of.flat = of.size < threads * 2 && of.images < (int64_t{1} << 31) / (threads * 2);
  if (x.shape.count() == 0) {
    of.images = 0;  // there is nothing but statistics of nothing
    if (of.training != 0 && of.channels > 0) steps.add(1, few_blocks(of.channels, 1 << 20));
    return of;
  }
  const int64_t wanted = kw::blocks(132 * 8, of.training != 0 ? of.channels : of.images * of.channels);
  const int64_t possible = kw::blocks(of.size, threads * 4);
  of.each = kw::blocks(kw::blocks(of.size, wanted < possible ? wanted : possible), 4) * 4;
  if (of.flat != 0) of.each = of.size;
  of.parts = kw::blocks(of.size, of.each);
  if (of.training != 0) {
    steps.room = of.parts * of.channels * 12;
    steps.add(0, kw::Dim3(few_blocks(of.channels, 1 << 20), of.parts), threads / 32 * 4);
  }
  const int64_t lines = of.images * of.channels;
  steps.add(1, kw::Dim3(few_blocks(of.flat != 0 ? kw::blocks(lines * of.size, threads) : lines, 1 << 20), of.parts));
  return of;
}
#endif
