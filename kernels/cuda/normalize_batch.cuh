// Channels over a whole batch: blocks sum parts of each channel, then the squares around the mean, then all elements
// are moved and scaled; with given statistics the last of these alone.
//
// serves: BatchNormalization
// types: float32
// when: outputs == 1
// order: 10
// fuses: before, after
#pragma once

#include "parts/warps.cuh"

KW_TUNE(BATCH_BLOCK, 256, 128, 256, 512);

constexpr int threads = BATCH_BLOCK;
constexpr int kernels = 3;

struct BatchNormalization_node {
  int64_t images, channels, size, training, parts;
  float epsilon;
};

#ifdef __CUDACC__
// Kernel 0 sums a channel's elements, 1 their squares around the mean, 2 writes the results. room: sums by part and
// channel, then squares.
template <int kernel, class X, class Y>
__device__ void BatchNormalization(const BatchNormalization_node& of, const X& x, const float* scale, const float* bias,
                                   const float* mean, const float* variance, const Y& y, unsigned char* room) {
  float* const sums = reinterpret_cast<float*>(room);
  float* const squares = sums + of.parts * of.channels;
  const float count = float(of.images) * float(of.size);
  const auto total = [&](const float* of_parts, int64_t channel) {
    float sum = 0;
    for (int64_t part = 0; part < of.parts; ++part) sum += of_parts[part * of.channels + channel];
    return sum;
  };
  if constexpr (kernel < 2) {
    for (int64_t channel = blockIdx.x; channel < of.channels; channel += gridDim.x) {
      const float centre = kernel == 0 ? 0.0f : total(sums, channel) / count;
      float sum = 0;
      // A part of every image of the channel.
      const int64_t each = (of.size + of.parts - 1) / of.parts, begin = blockIdx.y * each;
      const int64_t end = begin + each < of.size ? begin + each : of.size;
      const int64_t width = end > begin ? end - begin : 0;
      for (int64_t k = threadIdx.x; k < of.images * width; k += threads) {
        const float value = float(x((k / width * of.channels + channel) * of.size + begin + k % width)) - centre;
        sum += kernel == 0 ? value : value * value;
      }
      sum = joined<threads>(sum, shared_floats(), JoinSum());
      if (threadIdx.x == 0) (kernel == 0 ? sums : squares)[blockIdx.y * of.channels + channel] = sum;
      __syncthreads();
    }
  } else {
    const int64_t results = of.images * of.channels;
    for (int64_t line = blockIdx.x; line < results; line += gridDim.x) {
      const int64_t channel = line % of.channels;
      const float middle = of.training != 0 ? total(sums, channel) / count : mean[channel];
      const float spread = of.training != 0 ? total(squares, channel) / count : variance[channel];
      const float factor = scale[channel] / sqrtf(spread + of.epsilon), shift = bias[channel];
      for (int64_t k = int64_t(blockIdx.y) * threads + threadIdx.x; k < of.size; k += int64_t(gridDim.y) * threads) {
        const int64_t i = line * of.size + k;
        y(i, (float(x(i)) - middle) * factor + shift);
      }
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
                             static_cast<float>(node.real("epsilon", 1e-5))};
  if (x.shape.count() == 0) return of;
  if (of.training != 0) {
    const int64_t wanted = kw::blocks(132 * 4, of.channels), possible = kw::blocks(of.size, threads);
    of.parts = wanted < possible ? wanted : possible;
    of.parts = kw::blocks(of.size, kw::blocks(of.size, of.parts));
    steps.room = 2 * of.parts * of.channels * 4;
    for (int kernel = 0; kernel < 2; ++kernel) {
      steps.add(kernel, kw::Dim3(few_blocks(of.channels, 1 << 20), of.parts), threads / 32 * 4);
    }
  }
  const int64_t lines = few_blocks(of.images * of.channels, 1 << 20);
  steps.add(2, kw::Dim3(lines, few_blocks(kw::blocks(of.size, threads * 4), lines > 2000 ? 1 : 64)));
  return of;
}
#endif
