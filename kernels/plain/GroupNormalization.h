#pragma once

#include <kernelwright.h>

#include "parts/moments.h"
#include "parts/wide.h"

// GroupNormalization: groups of channels of every image moved and scaled to mean 0 and variance 1, then scaled and
// shifted.
template <class T>
void GroupNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> scale,
                        kw::Tensor<const T> bias, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const W epsilon = W(node.real("epsilon"));
  const int64_t groups = node.integer("num_groups");
  const int64_t together = x.shape(1) / groups;  // channels of a group
  const int64_t size = x.shape().count(2, x.rank());
  const bool by_group = node.integer("opset") < 21;  // before, scale and bias belonged to groups and not to channels
  y.allocate(x.shape());
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const T* group = x.data() + (n * groups + g) * together * size;
      const auto [mean, variance] = moments_of<W>(group, together * size);
      const W inverse = 1 / std::sqrt(variance + epsilon);
      for (int64_t c = g * together; c < (g + 1) * together; ++c) {
        const W factor = inverse * W(scale[by_group ? g : c]);
        const W shift = W(bias[by_group ? g : c]);
        const int64_t first = (n * groups * together + c) * size;
        for (int64_t i = first; i < first + size; ++i) y[i] = T((W(x[i]) - mean) * factor + shift);
      }
    }
  }
}
