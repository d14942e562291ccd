// The mean under each window: rows of images summed in vectors, then across; a window that is the channel as a row.
//
// serves: AveragePool
// types: float32
#pragma once

#include <kernelwright.h>

#include "../plain/AveragePool.h"
#include "parts/pooling.h"

// Sums of a row of windows become means.
struct Averaged {
  const float* widths;
  float height;

  float operator()(float sum, int64_t ow) const { return sum / (height * widths[ow]); }
  simd::Floats operator()(simd::Floats sum, int64_t ow) const { return sum / (height * simd::load(widths + ow)); }
};

inline const void* prepare_AveragePool(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>) {
  return keep_pool_attributes(call, node);
}

inline void AveragePool(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y, const void* kept) {
  if (x.rank() != 4 || x.count() == 0) return ::AveragePool(node, x, y);
  const auto& attributes = *static_cast<const PoolAttributes*>(kept);
  const PoolWindow window = pool_window(attributes, x.shape().dims + 2);
  const PoolAxis &down = window.down, &across = window.across;
  y.allocate({x.shape(0), x.shape(1), down.output, across.output});
  const int64_t channels = x.shape(0) * x.shape(1), x_size = down.input * across.input;
  const int threads = threads_within(node, threads_for(node, x.count()), kBytesOfFoldedRows);
  if (window_is_channel(attributes, x.shape())) {
    share_ranges(node, threads, channels, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t c = begin; c < end; ++c) {
        y[c] = fold_row<SumOfElements>(x.data() + c * x_size, x_size) / float(x_size);
      }
    });
    return;
  }
  // How many elements a window averages is a product: those on the input, or on what the input is with its padding.
  const auto counted = [&](const PoolAxis& axis, int64_t o) {
    return attributes.counts_padding ? axis.end_tap(o, axis.input + axis.pad_end)
                                     : axis.end_tap(o, axis.input) - axis.first_tap(o);
  };
  float* widths = node.scratch<float>(across.output);
  for (int64_t ow = 0; ow < across.output; ++ow) widths[ow] = float(counted(across, ow));
  const FoldedRows folded = folded_rows<SumOfElements>(node, window, threads);
  share_ranges(node, threads, channels, 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t c = begin; c < end; ++c) {
      pool_image<SumOfElements>(x.data() + c * x_size, window, folded.of_slot(slot),
                                y.data() + c * down.output * across.output, [&](int64_t oh) {
                                  return Averaged{widths, float(counted(down, oh))};
                                });
    }
  });
}
