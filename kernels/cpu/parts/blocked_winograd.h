#pragma once

#include <kernelwright.h>

#include "blocked_convolution.h"
#include "winograd_transforms.h"

// Minimal filtering F(4x4, 3x3) of images in blocks of channels: each vector has one pixel of all channels of a block,
// so that tiles are transformed without moving numbers between lanes. The sums over the channels are the products of
// blocked_convolution.h, with tiles in the place of pixels.

namespace blocked {

inline constexpr int kParts = winograd::kIn * winograd::kIn;

// Weights of all parts behind the biases: in each part as the tiles read them.
inline void transform_weights(const float* kernel, double scale, float* to, int64_t part) {
  double g[9], half[3 * winograd::kIn], whole[winograd::kIn];
  for (int i = 0; i < 9; ++i) g[i] = scale * double(kernel[i]);
  for (int i = 0; i < 3; ++i) winograd::transform_kernel(g + i, 3, half + i * winograd::kIn);
  for (int y = 0; y < winograd::kIn; ++y) {
    winograd::transform_kernel(half + y, winograd::kIn, whole);
    for (int x = 0; x < winograd::kIn; ++x) to[(y * winograd::kIn + x) * part] = static_cast<float>(whole[x]);
  }
}

// The tile whose first input is at `from`; its parts lie `part` apart.
inline void transform_tile(const float* from, int64_t row, float* to, int64_t part) {
  Floats half[winograd::kIn][winograd::kIn];
  KW_UNROLL for (int x = 0; x < winograd::kIn; ++x) {
    Floats column[winograd::kIn];
    KW_UNROLL for (int y = 0; y < winograd::kIn; ++y) column[y] = simd::load(from + y * row + x * kBlock);
    winograd::transform_input(column, 1, half[x]);
  }
  KW_UNROLL for (int y = 0; y < winograd::kIn; ++y) {
    Floats whole[winograd::kIn];
    winograd::transform_input(&half[0][y], winograd::kIn, whole);
    KW_UNROLL for (int x = 0; x < winograd::kIn; ++x) simd::store(to + (y * winograd::kIn + x) * part, whole[x]);
  }
}

// The outputs of a tile; `rows` by `columns` of them are there.
inline void transform_sums(const float* from, int64_t part, Floats bias, float* to, int64_t row, int rows,
                           int columns) {
  Floats half[winograd::kIn][winograd::kOut];
  KW_UNROLL for (int x = 0; x < winograd::kIn; ++x) {
    Floats column[winograd::kIn];
    KW_UNROLL for (int y = 0; y < winograd::kIn; ++y) column[y] = simd::load(from + (y * winograd::kIn + x) * part);
    winograd::transform_output(column, 1, half[x]);
  }
  KW_UNROLL for (int y = 0; y < winograd::kOut; ++y) {
    Floats whole[winograd::kOut];
    winograd::transform_output(&half[0][y], winograd::kOut, whole);
    if (y >= rows) break;
    KW_UNROLL for (int x = 0; x < winograd::kOut; ++x) {
      if (x < columns) simd::store(to + y * row + x * kBlock, whole[x] + bias);
    }
  }
}

inline void filter_minimally(const Room& room, const Convolution& conv, const Finish* finish, int steps) {
  using winograd::kOut;
  const Image in = room.image(conv.in), out = room.image(conv.out);
  const int across = (out.place.width + kOut - 1) / kOut, down = (out.place.height + kOut - 1) / kOut;
  const int from_blocks = in.place.blocks(), to_blocks = out.place.blocks();
  const float* const bias = room.kept + conv.packed;
  const float* const weights = bias + int64_t{to_blocks} * kBlock;
  const int64_t weights_of_block = int64_t{in.place.channels} * kBlock;
  static constexpr float kZeros[kMostBlocks * kBlock] = {};
  for (int first = 0; first < down; first += conv.tile_rows) {
    const int last = std::min(down, first + conv.tile_rows), tiles = (last - first) * across;
    const int64_t block_size = int64_t{tiles} * kBlock, in_part = from_blocks * block_size,
                  out_part = to_blocks * block_size;
    float *const parts = room.work, *const sums = parts + kParts * in_part;
    // A row of tiles of a block at a time.
    room.each(from_blocks * (last - first), [&](int piece) {
      const int block = piece / (last - first), begin = piece % (last - first) * across;
      for (int i = begin; i < begin + across; ++i) {
        const int y = (first + i / across) * kOut - conv.top, x = i % across * kOut - conv.left;
        transform_tile(in.at(block, y, x), in.place.row(), parts + block * block_size + int64_t{i} * kBlock, in_part);
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
    room.each(kParts, [&](int part) {
      for (int block = 0; block < to_blocks; block += kMostBlocks) {
        const Tile* const all = to_blocks - block >= 2 ? tiles_for<2>(kBlock) : tiles_for<1>(kBlock);
        const float* const factors = weights + (int64_t{part} * to_blocks + block) * weights_of_block;
        for (int i = 0; i < cut.tiles; ++i) {
          const int64_t begin = cut.begin(i), count = cut.begin(i + 1) - begin;
          all[count - 1](walk, parts + part * in_part + begin * kBlock, factors, kZeros,
                         sums + part * out_part + block * block_size + begin * kBlock);
        }
      }
    });
    room.each(to_blocks * (last - first), [&](int piece) {
      const int block = piece / (last - first), row = first + piece % (last - first);
      const Floats start = simd::load(bias + block * kBlock);
      const int y = row * kOut, rows = std::min(kOut, out.place.height - y);
      for (int i = 0; i < across; ++i) {
        const int x = i * kOut;
        transform_sums(sums + block * block_size + int64_t{(row - first) * across + i} * kBlock, out_part, start,
                       out.at(block, y, x), out.place.row(), rows, std::min(kOut, out.place.width - x));
      }
      for (int k = y; k < y + rows; ++k) {
        finish_row(room, finish, steps, out.at(block, k, 0), out.place.width, block, k, 0);
      }
    });
  }
}

}  // namespace blocked
