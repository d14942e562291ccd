#pragma once

#include <kernelwright.h>

#include <array>
#include <utility>

#include "blocked_layout.h"

// Convolutions of images in blocks of channels (blocked_layout.h). Sums of up to kMostPixels neighbouring pixels and
// two blocks of output channels stay in registers; each number of the input that is read is multiplied with as many
// vectors of weights as there are blocks.

namespace blocked {

inline constexpr int kMostPixels = simd::kNatural == 16 ? 14 : simd::kNatural == 8 ? 6 : 10;
inline constexpr int kMostBlocks = 2;

// A convolution's numbers. `fan` is the part of the input's channels that an output channel reads: all, or one.
struct Convolution {
  int in, out;        // images
  int weights, bias;  // inputs of the call; bias -1: none
  int kernel_h, kernel_w;
  int stride_h, stride_w;
  int dilation_h, dilation_w;
  int top, left;                 // padding
  int64_t packed;                // where its weights are kept
  int first_recipe, recipes;     // what is done to the result channel by channel before anything else
  int out_stride, out_y, out_x;  // of a transposed one: where its pixels go; 1, 0, 0 otherwise
  int tile_rows;  // of minimal filtering: how many rows of tiles at a time, or along a row how many tiles
};

struct TileWalk {
  int channels, blocks;  // of the input
  int block_channels;    // of each of its blocks but the last
  int kernel_h, kernel_w;
  int64_t in_block;           // from one block to the next
  int64_t in_row, in_column;  // from one of the kernel's rows and columns to the next
  int64_t in_channel;         // from one channel to the next inside of a block
  int64_t in_pixel;           // from one pixel of the output to the next
  int64_t out_pixel, out_block;
};

// kPixel: TileWalk::in_pixel where it is known when this is compiled, or 0.
template <int kPixels, int kBlocks, int kPixel>
void tile(const TileWalk& walk, const float* in, const float* weights, const float* bias, float* out) {
  Floats sums[kBlocks][kPixels];
  KW_UNROLL for (int n = 0; n < kBlocks; ++n) {
    const Floats start = simd::load(bias + n * kBlock);
    KW_UNROLL for (int m = 0; m < kPixels; ++m) sums[n][m] = start;
  }
  const int64_t pixel = kPixel == 0 ? walk.in_pixel : kPixel;
  const int64_t channel = kPixel >= kBlock ? 1 : walk.in_channel;
  for (int block = 0; block < walk.blocks; ++block) {
    const int channels = std::min(walk.block_channels, walk.channels - block * walk.block_channels);
    const float* const image = in + block * walk.in_block;
    for (int h = 0; h < walk.kernel_h; ++h) {
      for (int w = 0; w < walk.kernel_w; ++w) {
        const float* x = image + h * walk.in_row + w * walk.in_column;
        KW_KEEP_LOOP for (int c = 0; c < channels; ++c) {
          Floats factors[kBlocks];
          KW_UNROLL for (int n = 0; n < kBlocks; ++n) factors[n] = simd::load(weights + n * kBlock);
          KW_UNROLL for (int m = 0; m < kPixels; ++m) {
            const float& number = x[m * pixel];
            KW_UNROLL for (int n = 0; n < kBlocks; ++n) sums[n][m] = simd::fma_each(number, factors[n], sums[n][m]);
          }
          x += channel;
          weights += kBlocks * kBlock;
        }
      }
    }
  }
  KW_UNROLL for (int n = 0; n < kBlocks; ++n) {
    KW_UNROLL for (int m = 0; m < kPixels; ++m) {
      simd::store(out + n * walk.out_block + m * walk.out_pixel, sums[n][m]);
    }
  }
}

template <int kPixels, int kPixel>
void tile_by_channel(const TileWalk& walk, const float* in, const float* weights, const float* bias, float* out) {
  Floats sums[kPixels];
  KW_UNROLL for (int m = 0; m < kPixels; ++m) sums[m] = simd::load(bias);
  const int64_t pixel = kPixel == 0 ? walk.in_pixel : kPixel;
  for (int h = 0; h < walk.kernel_h; ++h) {
    const float* x = in + h * walk.in_row;
    KW_KEEP_LOOP for (int w = 0; w < walk.kernel_w; ++w) {
      const Floats factor = simd::load(weights);
      KW_UNROLL for (int m = 0; m < kPixels; ++m) sums[m] = simd::fma(simd::load(x + m * pixel), factor, sums[m]);
      x += walk.in_column;
      weights += kBlock;
    }
  }
  KW_UNROLL for (int m = 0; m < kPixels; ++m) simd::store(out + m * walk.out_pixel, sums[m]);
}

// The same of neighbouring pixels with several taps side by side: a row's weights stay in registers, and each pixel is
// read once for all of them.
template <int kPixels, int kTaps>
void tile_of_taps(const TileWalk& walk, const float* in, const float* weights, const float* bias, float* out) {
  Floats sums[kPixels];
  KW_UNROLL for (int m = 0; m < kPixels; ++m) sums[m] = simd::load(bias);
  KW_KEEP_LOOP for (int h = 0; h < walk.kernel_h; ++h) {
    const float* const x = in + h * walk.in_row;
    Floats factors[kTaps];
    KW_UNROLL for (int w = 0; w < kTaps; ++w) factors[w] = simd::load(weights + w * kBlock);
    KW_UNROLL_MORE for (int i = 0; i < kPixels + kTaps - 1; ++i) {
      const Floats pixel = simd::load(x + i * kBlock);
      KW_UNROLL for (int w = 0; w < kTaps; ++w) {
        if (i - w >= 0 && i - w < kPixels) sums[i - w] = simd::fma(pixel, factors[w], sums[i - w]);
      }
    }
    weights += kTaps * kBlock;
  }
  KW_UNROLL for (int m = 0; m < kPixels; ++m) simd::store(out + m * walk.out_pixel, sums[m]);
}

using Tile = void (*)(const TileWalk&, const float*, const float*, const float*, float*);

template <int kBlocks, int kPixel, int... kPixels>
constexpr std::array<Tile, sizeof...(kPixels)> tiles_of(std::integer_sequence<int, kPixels...>) {
  if constexpr (kBlocks == 0) {
    return {tile_by_channel<kPixels + 1, kPixel>...};
  } else {
    return {tile<kPixels + 1, kBlocks, kPixel>...};
  }
}
// By the number of pixels less one. kBlocks 0: channel by channel.
template <int kBlocks>
const Tile* tiles_for(int64_t pixel) {
  using All = std::make_integer_sequence<int, kMostPixels>;
  static constexpr auto kNear = tiles_of<kBlocks, kBlock>(All()), kFar = tiles_of<kBlocks, 2 * kBlock>(All()),
                        kAny = tiles_of<kBlocks, 0>(All());
  if constexpr (kBlocks > 0) {
    static constexpr auto kSecond = tiles_of<kBlocks, 2>(All());  // of an input in planes
    if (pixel == 2) return kSecond.data();
  }
  return pixel == kBlock ? kNear.data() : pixel == 2 * kBlock ? kFar.data() : kAny.data();
}

template <int kTaps, int... kPixels>
constexpr std::array<Tile, sizeof...(kPixels)> taps_of(std::integer_sequence<int, kPixels...>) {
  return {tile_of_taps<kPixels + 1, kTaps>...};
}
// Channel by channel, by the number of pixels less one.
inline const Tile* tiles_by_channel(const TileWalk& walk) {
  using All = std::make_integer_sequence<int, kMostPixels>;
  static constexpr auto kThree = taps_of<3>(All()), kFive = taps_of<5>(All());
  const bool side_by_side = walk.in_pixel == kBlock && walk.in_column == kBlock;
  if (side_by_side && walk.kernel_w == 3) return kThree.data();
  if (side_by_side && walk.kernel_w == 5) return kFive.data();
  return tiles_for<0>(walk.in_pixel);
}

// How a row is cut into tiles of nearly the same length.
struct Cut {
  int width, tiles;
  explicit Cut(int width_) : width(width_), tiles((width_ + kMostPixels - 1) / kMostPixels) {}
  int begin(int i) const { return static_cast<int>(int64_t{width} * i / tiles); }
};

inline constexpr int64_t kNearFloats = 128 << 10;  // of the input that is worked on with one set of weights

// Where the sums of the pixel (y, 0) of the convolution's own grid go.
inline float* out_at(const Convolution& conv, const Image& out, int block, int y, int x) {
  return out.at(block, y * conv.out_stride + conv.out_y, x * conv.out_stride + conv.out_x);
}

// Leaves the margin of the output as it is.
inline void convolve(const Room& room, const Convolution& conv, const Finish* finish, int steps) {
  const Image in = room.image(conv.in), out = room.image(conv.out);
  const bool planes = in.place.planes;
  const int64_t in_x = planes ? 1 : kBlock;
  const int height = out.place.height / conv.out_stride, width = out.place.width / conv.out_stride;
  const TileWalk walk{.channels = in.place.channels,
                      .blocks = planes ? 1 : in.place.blocks(),
                      .block_channels = planes ? in.place.channels : kBlock,
                      .kernel_h = conv.kernel_h,
                      .kernel_w = conv.kernel_w,
                      .in_block = in.place.plane(),
                      .in_row = conv.dilation_h * in.place.row(),
                      .in_column = conv.dilation_w * in_x,
                      .in_channel = planes ? in.place.plane() : 1,
                      .in_pixel = conv.stride_w * in_x,
                      .out_pixel = int64_t{conv.out_stride} * kBlock,
                      .out_block = out.place.plane()};
  const int64_t pixel = walk.in_pixel;
  const int64_t taps = int64_t{conv.kernel_h} * conv.kernel_w * in.place.channels;
  const int64_t rows_of_input = std::max<int64_t>(1, kNearFloats / (int64_t{in.place.blocks()} * in.place.row()));
  const int blocks = out.place.blocks(), pairs = (blocks + kMostBlocks - 1) / kMostBlocks;
  int rows = static_cast<int>(std::clamp<int64_t>(rows_of_input / conv.stride_h, 1, height));
  const int64_t products = taps * height * width * blocks * kBlock;
  const bool together = room.threads() > 1 && products >= kFewestProducts;
  if (together) {  // fewer rows at a time, where that gives every thread some
    const int cuts = (room.threads() * kPiecesOfThread + pairs - 1) / pairs;
    rows = std::min(rows, std::max(1, (height + cuts - 1) / cuts));
  }
  const Cut cut(width);
  const auto piece = [&](int i) {
    const int first = i / pairs * rows, last = std::min(height, first + rows), block = i % pairs * kMostBlocks;
    const int n = std::min(kMostBlocks, blocks - block);
    const float* const bias = room.kept + conv.packed + int64_t{block} * kBlock;
    const float* const weights = room.kept + conv.packed + int64_t{blocks} * kBlock + block * taps * kBlock;
    const Tile* const tiles = n == 2 ? tiles_for<2>(pixel) : tiles_for<1>(pixel);
    for (int y = first; y < last; ++y) {
      const float* const from = in.at(0, y * conv.stride_h - conv.top, -conv.left);
      for (int k = 0; k < cut.tiles; ++k) {
        const int x = cut.begin(k), count = cut.begin(k + 1) - x;
        tiles[count - 1](walk, from + x * walk.in_pixel, weights, bias, out_at(conv, out, block, y, x));
      }
      for (int k = 0; k < n && steps > 0; ++k) {
        finish_row(room, finish, steps, out.at(block + k, y, 0), width, block + k, y, 0);
      }
    }
  };
  const int pieces = (height + rows - 1) / rows * pairs;
  if (together) {
    room.each(pieces, piece);
  } else {
    for (int i = 0; i < pieces; ++i) piece(i);
  }
}

// Each channel by itself.
inline void convolve_by_channel(const Room& room, const Convolution& conv, const Finish* finish, int steps) {
  const Image in = room.image(conv.in), out = room.image(conv.out);
  const TileWalk walk{.channels = 1,
                      .blocks = 1,
                      .block_channels = 1,
                      .kernel_h = conv.kernel_h,
                      .kernel_w = conv.kernel_w,
                      .in_block = 0,
                      .in_row = conv.dilation_h * in.place.row(),
                      .in_column = int64_t{conv.dilation_w} * kBlock,
                      .in_channel = 1,
                      .in_pixel = int64_t{conv.stride_w} * kBlock,
                      .out_pixel = kBlock,
                      .out_block = 0};
  const int64_t taps = int64_t{conv.kernel_h} * conv.kernel_w;
  const Cut cut(out.place.width);
  const int blocks = out.place.blocks();
  const Tile* const tiles = tiles_by_channel(walk);
  const int64_t products = taps * out.place.height * out.place.width * blocks * kBlock;
  each_part(room, out.place, products, kFewestProducts, [&](int block, int y0, int y1) {
    const float* const bias = room.kept + conv.packed + int64_t{block} * kBlock;
    const float* const weights = room.kept + conv.packed + int64_t{blocks} * kBlock + block * taps * kBlock;
    for (int y = y0; y < y1; ++y) {
      const float* const from = in.at(block, y * conv.stride_h - conv.top, -conv.left);
      for (int i = 0; i < cut.tiles; ++i) {
        const int x = cut.begin(i), count = cut.begin(i + 1) - x;
        tiles[count - 1](walk, from + x * walk.in_pixel, weights, bias, out.at(block, y, x));
      }
      finish_row(room, finish, steps, out.at(block, y, 0), out.place.width, block, y, 0);
    }
  });
}

}  // namespace blocked
