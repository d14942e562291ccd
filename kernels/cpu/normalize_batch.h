// Channels moved and scaled by moments that are given: one pass.
//
// serves: BatchNormalization
// types: float32
// when: training_mode == 0
#pragma once

#include <kernelwright.h>

#include "parts/moments.h"

inline void BatchNormalization(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> scale,
                               kw::Tensor<const float> bias, kw::Tensor<const float> mean,
                               kw::Tensor<const float> variance, kw::Tensor<float>& y, kw::Tensor<float>&,
                               kw::Tensor<float>&) {
  const float epsilon = float(node.real("epsilon"));
  const int64_t channels = x.rank() == 1 ? 1 : x.shape(1);
  const int64_t size = x.shape().count(std::min(2, x.rank()), x.rank());
  y.allocate(x.shape());
  if (x.count() == 0) return;
  share_ranges(node, threads_for(node, x.count()), x.shape(0) * channels, 1,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t c = i % channels;
                   const float factor = scale[c] / std::sqrt(variance[c] + epsilon);
                   scale_row(x.data() + i * size, size, mean[c], factor, bias[c], y.data() + i * size);
                 }
               });
}
