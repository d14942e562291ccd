#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// BatchNormalization: every channel moved and scaled by a mean and a variance: given ones, or in training the batch's
// own, which are then mixed into the given ones.
template <class T, class T1, class T2, class R>
void BatchNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T1> scale,
                        kw::Tensor<const T1> bias, kw::Tensor<const T2> given_mean, kw::Tensor<const T2> given_variance,
                        kw::Tensor<T>& y, kw::Tensor<R>& running_mean, kw::Tensor<R>& running_variance) {
  using W = std::common_type_t<Wide<T>, Wide<T1>, Wide<T2>>;
  const bool training = node.integer("training_mode") != 0;
  const W epsilon = W(node.real("epsilon")), momentum = W(node.real("momentum"));
  const int64_t batch = x.shape(0), channels = x.rank() == 1 ? 1 : x.shape(1);
  const int64_t size = x.shape().count(std::min(2, x.rank()), x.rank());
  y.allocate(x.shape());
  if (training) {
    running_mean.allocate(given_mean.shape());
    running_variance.allocate(given_variance.shape());
  }
  for (int64_t c = 0; c < channels; ++c) {
    W mean = W(given_mean[c]), variance = W(given_variance[c]);
    if (training) {
      // The mean of f(element) over the channel in all images. In double: float drops the many small terms of a long
      // sum.
      const auto mean_of = [&](auto f) {
        double sum = 0;
        for (int64_t n = 0; n < batch; ++n) {
          const T* from = x.data() + (n * channels + c) * size;
          for (int64_t i = 0; i < size; ++i) sum += f(W(from[i]));
        }
        return W(sum / double(batch * size));
      };
      mean = mean_of([](W value) { return value; });
      variance = mean_of([mean](W value) { return (value - mean) * (value - mean); });
      running_mean[c] = R(W(given_mean[c]) * momentum + mean * (1 - momentum));
      running_variance[c] = R(W(given_variance[c]) * momentum + variance * (1 - momentum));
    }
    const W factor = W(scale[c]) / std::sqrt(variance + epsilon);
    const W shift = W(bias[c]);
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t first = (n * channels + c) * size;
      for (int64_t i = 0; i < size; ++i) y[first + i] = T((W(x[first + i]) - mean) * factor + shift);
    }
  }
}
