#pragma once

#include <kernelwright.h>

#include "convolution.h"

// A whole Conv the direct way.

KW_TUNE(CONV_BLOCK, 32768, 4096, 8192, 16384, 32768, 65536);  // elements of the input that are copied at a time

namespace direct {

// Constant weights, tile by tile.
inline const void* prepare(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> w) {
  if (!w.given() || w.count() == 0) return nullptr;
  const int64_t depth = w.count() / w.shape(0), groups = node.integer("group", 1), features = w.shape(0) / groups;
  float* packed = call.keep<float>(w.count());
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = g * features * depth;
    convolution::pack_weights(w.data() + first, features, depth, packed + first);
  }
  return packed;
}

inline void run(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  using namespace convolution;
  Axes axes = axes_of(node, x.shape(), w.shape());
  kw::Shape shape{x.shape(0), w.shape(0)};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  const int64_t groups = node.integer("group", 1), features = w.shape(0) / groups, channels = w.shape(1);
  const int64_t depth = channels * axes.taps(), x_size = axes.inputs(), y_size = axes.outputs();
  const float* weights = kept != nullptr ? static_cast<const float*>(kept) : w.data();
  const auto features_of = [&](int64_t g) {
    Features those{features, depth, weights + g * features * depth, kept != nullptr, {}};
    if (bias.given()) those.finish = {.added = bias.data() + g * features, .row = 1};
    return those;
  };
  const auto each_group = [&](const auto& of) {
    for (int64_t i = 0; i < x.shape(0) * groups; ++i) {
      of(i % groups, x.data() + i * channels * x_size, y.data() + i * features * y_size);
    }
  };
  if (y_size < product::kLanes && depth >= 8 * product::kLanes) {
    float* window = node.scratch<float>(depth);
    return each_group([&](int64_t g, const float* from, float* to) {
      run_by_dots(axes, from, channels, w.data() + g * features * depth, features_of(g), to, window);
    });
  }

  bool copy = !axes.plain();
  int32_t* offsets = node.scratch<int32_t>(depth);
  // Channels a power of two apart would drive each other out of the cache.
  const bool clash = channels > 4 && features > 8 && x_size % 512 == 0;
  if (axes.taps() == 1) {
    // A product, of the input as it lies, or of what is read without gaps, as much as fits into the cache.
    const bool read = copy || clash || y_size < product::kPanel;
    const int64_t most = copy || !read ? y_size : std::clamp<int64_t>(CONV_BLOCK / channels / 64 * 64, 64, y_size);
    const int64_t pitch = read ? unlike_cache_ways(most) : x_size;
    for (int64_t c = 0; c < channels; ++c) offsets[c] = int32_t(c * pitch);
    float* block = read ? node.scratch<float>(channels * pitch + product::kPanel) : nullptr;
    return each_group([&](int64_t g, const float* from, float* to) {
      const Features those = features_of(g);
      for (int64_t first = 0; first < y_size; first += most) {
        const int64_t columns = std::min(most, y_size - first);
        for (int64_t c = 0; read && c < channels; ++c) {
          if (copy) {
            copy_channel(axes, from + c * x_size, axes[1].output, block + c * pitch);
          } else {
            copy_row(from + c * x_size, x_size, first, 1, columns, block + c * pitch);
          }
        }
        run_row(those, {read ? block : from, offsets}, to + first, y_size, columns);
      }
    });
  }
  copy = copy || clash || axes[2].output < product::kPanel;

  // As many rows of the output at a time as their copied input fits into the cache.
  int64_t rows = axes[1].output;
  if (axes[0].output == 1) {
    const int64_t row = channels * axes.copied() / std::max<int64_t>(axes[1].length, 1);
    rows = std::clamp<int64_t>(CONV_BLOCK / std::max<int64_t>(row, 1) - axes[1].place(axes[1].kernel - 1), 1, rows);
  }
  Axes part = axes;
  part[1].length = rows + part[1].place(part[1].kernel - 1);
  find_offsets(part, channels, copy, offsets);
  float* copies = copy ? node.scratch<float>(channels * part.copied() + product::kPanel) : nullptr;
  each_group([&](int64_t g, const float* from, float* to) {
    convolution::run(axes, from, channels, features_of(g), to, copies, offsets, rows);
  });
}

}  // namespace direct
