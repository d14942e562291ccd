// Channels moved and scaled to mean 0 and variance 1: two passes for the moments, one that writes.
//
// serves: InstanceNormalization, GroupNormalization
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/moments.h"

inline void InstanceNormalization(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> scale,
                                  kw::Tensor<const float> bias, kw::Tensor<float>& y) {
  const float epsilon = float(node.real("epsilon"));
  const int64_t channels = x.shape(1), size = x.shape().count(2, x.rank());
  y.allocate(x.shape());
  if (x.count() == 0) return;
  share_ranges(
      node, threads_for(node, x.count()), x.shape(0) * channels, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i % channels, first = i * size;
          const auto [mean, variance] = moments_of_row(x.data() + first, size);
          scale_row(x.data() + first, size, mean, scale[c] / std::sqrt(variance + epsilon), bias[c], y.data() + first);
        }
      });
}

inline void GroupNormalization(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> scale,
                               kw::Tensor<const float> bias, kw::Tensor<float>& y) {
  const float epsilon = float(node.real("epsilon"));
  const int64_t groups = node.integer("num_groups");
  const int64_t together = x.shape(1) / groups;  // channels of a group
  const int64_t size = x.shape().count(2, x.rank());
  const bool by_group = node.integer("opset") < 21;  // before, scale and bias belonged to groups and not to channels
  y.allocate(x.shape());
  if (x.count() == 0) return;
  share_ranges(node, threads_for(node, x.count()), x.shape(0) * groups, 1,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t g = i % groups;
                   int64_t first = i * together * size;
                   const auto [mean, variance] = moments_of_row(x.data() + first, together * size);
                   const float inverse = 1 / std::sqrt(variance + epsilon);
                   for (int64_t c = g * together; c < (g + 1) * together; ++c, first += size) {
                     const int64_t own = by_group ? g : c;
                     scale_row(x.data() + first, size, mean, inverse * scale[own], bias[own], y.data() + first);
                   }
                 }
               });
}
