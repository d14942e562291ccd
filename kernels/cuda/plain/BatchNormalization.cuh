#pragma once

#include "common.cuh"

// BatchNormalization: each channel moved and scaled by given means and variances, or in training by those of the batch,
// then scaled and shifted.
struct BatchNormalization_node {
  int64_t images, channels, size, training;
  double epsilon, momentum;
};

#ifdef __CUDACC__
struct ChannelMoments {
  double mean, variance;
};
// The sum over a channel of what its elements differ from a number by, or of the squares of that.
template <bool squared, class T>
__device__ double sum_of_differences(const BatchNormalization_node& of, const T* x, int64_t channel, double from) {
  double sum = 0;
  for (int64_t n = 0; n < of.images; ++n) {
    const T* image = x + (n * of.channels + channel) * of.size;
    for (int64_t k = 0; k < of.size; ++k) {
      const double difference = double(image[k]) - from;
      sum += squared ? difference * difference : difference;
    }
  }
  return sum;
}
template <class T>
__device__ ChannelMoments moments_of_channel(const BatchNormalization_node& of, const T* x, int64_t channel) {
  const double count = double(of.images * of.size), mean = sum_of_differences<false>(of, x, channel, 0) / count;
  return {mean, sum_of_differences<true>(of, x, channel, mean) / count};
}

template <class T, class S, class M>
__device__ T BatchNormalization(const BatchNormalization_node& of, int64_t i, const T* x, const S* scale, const S* bias,
                                const M* mean, const M* variance) {
  const int64_t channel = i / of.size % of.channels;
  const ChannelMoments moments = of.training != 0
                                     ? moments_of_channel(of, x, channel)
                                     : ChannelMoments{double(mean[channel]), double(variance[channel])};
  const double factor = double(scale[channel]) / sqrt(moments.variance + of.epsilon);
  return T((double(x[i]) - moments.mean) * factor + double(bias[channel]));
}
// What training leaves behind: the old statistic and the batch's, mixed.
template <int output, class T, class S, class M>
__device__ M BatchNormalization_more(const BatchNormalization_node& of, int64_t channel, const T* x, const S*, const S*,
                                     const M* mean, const M* variance) {
  const ChannelMoments moments = moments_of_channel(of, x, channel);
  const double old = double(output == 1 ? mean[channel] : variance[channel]);
  return M(old * of.momentum + (output == 1 ? moments.mean : moments.variance) * (1 - of.momentum));
}
#else
inline BatchNormalization_node BatchNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given&,
                                                       const Given&, const Given& mean, const Given&) {
  y[0] = x.shape;
  const int64_t training = node.integer("training_mode");
  if (training != 0) y[1] = y[2] = mean.shape;
  const int first = x.shape.rank < 2 ? x.shape.rank : 2;
  return {x.shape[0],
          x.shape.rank == 1 ? 1 : x.shape[1],
          x.shape.count(first, x.shape.rank),
          training,
          node.real("epsilon", 1e-5),
          node.real("momentum", 0.9)};
}
#endif
