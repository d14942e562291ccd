#pragma once

#include <kernelwright.h>

#include "parts/moments.h"
#include "parts/wide.h"

// InstanceNormalization: every channel of every image moved and scaled to mean 0 and variance 1, then scaled and
// shifted.
template <class T>
void InstanceNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> scale,
                           kw::Tensor<const T> bias, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W epsilon = W(node.real("epsilon"));
  const int64_t channels = x.shape(1);
  const int64_t size = x.shape().count(2, x.rank());
  y.allocate(x.shape());
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = (n * channels + c) * size;
      const auto [mean, variance] = moments_of<W>(x.data() + first, size);
      const W factor = W(scale[c]) / std::sqrt(variance + epsilon);
      const W shift = W(bias[c]);
      for (int64_t i = first; i < first + size; ++i) y[i] = T((W(x[i]) - mean) * factor + shift);
    }
  }
}
