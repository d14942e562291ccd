#pragma once

#include <kernelwright.h>

#include "blocked_convolution.h"
#include "winograd_transforms.h"

// Minimal filtering along a row, of kernels of 3 or 5 taps with stride 1, over images in blocks of channels: F(4, 3)
// and F(2, 5) share their six points, and with them the transform of the inputs. Six products in the place of 12, or of
// 10. The sums over the channels are the products of blocked_convolution.h, with tiles in the place of pixels.

namespace blocked {

inline constexpr int kLineParts = winograd::kIn;

// Weights of all parts behind the biases: in each part as the tiles read them.
inline void transform_line_weights(const float* kernel, int taps, double scale, float* to, int64_t part) {
  constexpr double kNear = winograd::kNear, kFar = winograd::kFar, kNear2 = kNear * kNear, kFar2 = kFar * kFar;
  const auto at = [&](double point) {
    double sum = 0;
    for (int i = taps - 1; i >= 0; --i) sum = sum * point + scale * double{kernel[i]};
    return sum;
  };
  constexpr double kNearScale = 1 / (2 * kNear2 * (kNear2 - kFar2)), kFarScale = 1 / (2 * kFar2 * (kFar2 - kNear2));
  to[0] = static_cast<float>(at(0) / (kNear2 * kFar2));
  to[part] = static_cast<float>(at(kNear) * kNearScale);
  to[2 * part] = static_cast<float>(at(-kNear) * kNearScale);
  to[3 * part] = static_cast<float>(at(kFar) * kFarScale);
  to[4 * part] = static_cast<float>(at(-kFar) * kFarScale);
  to[5 * part] = static_cast<float>(scale * double{kernel[taps - 1]});
}

// The outputs of a tile from its parts.
template <int kOut>
[[gnu::always_inline]] inline void transform_line_sums(const Floats* m, Floats* to) {
  if constexpr (kOut == 4) {
    winograd::transform_output(m, 1, to);
  } else {
    to[0] = (m[0] + (m[1] + m[2])) + (m[3] + m[4]);
    to[1] = (m[5] + winograd::kNear * (m[1] - m[2])) + winograd::kFar * (m[3] - m[4]);
  }
}

// Some tiles of a row: their inputs as parts, the products, and the outputs.
template <int kOut>
inline void filter_tiles(const Room& room, const Convolution& conv, const Image& in, const Image& out,
                         const Finish* finish, int steps, int y, int first, int tiles) {
  const int from_blocks = in.place.blocks(), to_blocks = out.place.blocks();
  const int64_t block_size = int64_t{tiles} * kBlock, in_part = from_blocks * block_size,
                out_part = to_blocks * block_size;
  const float* const bias = room.kept + conv.packed;
  const float* const weights = bias + int64_t{to_blocks} * kBlock;
  const int64_t weights_of_block = int64_t{in.place.channels} * kBlock;
  static constexpr float kZeros[kMostBlocks * kBlock] = {};
  float *const parts = room.work, *const sums = parts + kLineParts * in_part;
  room.each(from_blocks, [&](int block) {
    for (int i = 0; i < tiles; ++i) {
      const float* const from = in.at(block, y - conv.top, (first + i) * kOut - conv.left);
      float* const to = parts + block * block_size + int64_t{i} * kBlock;
      Floats pixels[winograd::kIn], whole[winograd::kIn];
      KW_UNROLL for (int k = 0; k < winograd::kIn; ++k) pixels[k] = simd::load(from + k * kBlock);
      winograd::transform_input(pixels, 1, whole);
      KW_UNROLL for (int k = 0; k < winograd::kIn; ++k) simd::store(to + k * in_part, whole[k]);
    }
  });
  const TileWalk walk{.channels = in.place.channels,
                      .blocks = from_blocks,
                      .block_channels = kBlock,
                      .kernel_h = 1,
                      .kernel_w = 1,
                      .in_block = block_size,
                      .in_row = 0,
                      .in_column = 0,
                      .in_channel = 1,
                      .in_pixel = kBlock,
                      .out_pixel = kBlock,
                      .out_block = block_size};
  const Cut cut(tiles);
  const int pairs = (to_blocks + kMostBlocks - 1) / kMostBlocks;
  room.each(kLineParts * pairs, [&](int piece) {
    const int part = piece / pairs, block = piece % pairs * kMostBlocks;
    const Tile* const all = to_blocks - block >= 2 ? tiles_for<2>(kBlock) : tiles_for<1>(kBlock);
    const float* const factors = weights + (int64_t{part} * to_blocks + block) * weights_of_block;
    for (int i = 0; i < cut.tiles; ++i) {
      const int64_t begin = cut.begin(i), count = cut.begin(i + 1) - begin;
      all[count - 1](walk, parts + part * in_part + begin * kBlock, factors, kZeros,
                     sums + part * out_part + block * block_size + begin * kBlock);
    }
  });
  room.each(to_blocks, [&](int block) {
    const Floats start = simd::load(bias + block * kBlock);
    const int x0 = first * kOut, columns = std::min(tiles * kOut, out.place.width - x0);
    float* const row = out.at(block, y, x0);
    for (int i = 0; i < tiles; ++i) {
      const float* const from = sums + block * block_size + int64_t{i} * kBlock;
      Floats m[winograd::kIn], whole[kOut];
      KW_UNROLL for (int k = 0; k < winograd::kIn; ++k) m[k] = simd::load(from + k * out_part);
      transform_line_sums<kOut>(m, whole);
      KW_UNROLL for (int k = 0; k < kOut; ++k) {
        if (i * kOut + k < columns) simd::store(row + (i * kOut + k) * kBlock, whole[k] + start);
      }
    }
    finish_row(room, finish, steps, row, columns, block, y, x0);
  });
}

template <int kOut>
inline void filter_rows(const Room& room, const Convolution& conv, const Finish* finish, int steps) {
  const Image in = room.image(conv.in), out = room.image(conv.out);
  const int across = (out.place.width + kOut - 1) / kOut;
  for (int y = 0; y < out.place.height; ++y) {
    for (int first = 0; first < across; first += conv.tile_rows) {
      filter_tiles<kOut>(room, conv, in, out, finish, steps, y, first, std::min(conv.tile_rows, across - first));
    }
  }
}

inline void filter_line(const Room& room, const Convolution& conv, const Finish* finish, int steps) {
  if (conv.kernel_w == 3) {
    filter_rows<4>(room, conv, finish, steps);
  } else {
    filter_rows<2>(room, conv, finish, steps);
  }
}

}  // namespace blocked
