#pragma once

#include <kernelwright.h>

#include "convolution.h"
#include "winograd_transforms.h"

// Winograd's minimal filtering. F(4x4, 3x3), for kernels whose last two axes are 3 x 3: tiles of 6 x 6 inputs and the
// kernels are transformed, and then 36 products of a channel make what 4 x 4 outputs take from it, not 144. F(4, 3),
// for kernels of 3 along the last axis: 6 products for 4 outputs, not 12. For each of the 36 or 6 parts the sum over
// the channels is a matrix product: features by channels, channels by tiles. A third axis before them makes those sums
// longer, and its planes stand side by side. What is off in one element of a tile, an infinity too, reaches all of its
// outputs.

KW_TUNE(WINOGRAD_TILES, 64, 16, 32, 48, 64, 96);  // at a time

namespace winograd {

using Floats = simd::Eight;  // tiles that are transformed together: wider ones would often stay half empty
inline constexpr int kLanes = 8;
// `kTall`: how many rows of inputs a tile has, kIn or 1.
template <int kTall>
inline constexpr int kRows = kTall == 1 ? 1 : kOut;
template <int kTall>
inline constexpr int kParts = kTall* kIn;

// ---- Kernels. In each tile of features their parts, in each part the depth of the first axis and the channels.

template <int kTall>
[[gnu::cold, gnu::noinline]] void transform_weights(const float* w, int64_t features, int64_t channels, int64_t planes,
                                                    float* to) {
  constexpr int kHeight = kTall == 1 ? 1 : 3;
  const int64_t depth = planes * channels;
  product::each_rows(features, [&](int64_t first, int64_t rows) {
    for (int64_t i = 0; i < rows * depth; ++i) {
      const int64_t r = i / depth, c = i % depth / planes, p = i % planes;
      const float* kernel = w + (first * depth + i) * kHeight * 3;
      double g[9], half[3 * kTall], whole[kIn];
      for (int j = 0; j < kHeight * 3; ++j) g[j] = double(kernel[j]);
      for (int j = 0; j < 3; ++j) {
        if constexpr (kTall == 1) {
          half[j] = g[j];
        } else {
          transform_kernel(g + j, 3, half + j * kTall);
        }
      }
      for (int y = 0; y < kTall; ++y) {
        transform_kernel(half + y, kTall, whole);
        for (int x = 0; x < kIn; ++x) {
          to[first * kParts<kTall> * depth + ((y * kIn + x) * depth + p * channels + c) * rows + r] = float(whole[x]);
        }
      }
    }
  });
}

// ---- Between rows of memory and vectors of tiles.

// As rows of two matrices of 4 x 4, one in each half of a vector: both turned.
[[gnu::always_inline]] inline void turn(Floats (&v)[kOut]) {
  const Floats a = simd::shuffled<0, 8, 1, 9, 4, 12, 5, 13>(v[0], v[1]);
  const Floats b = simd::shuffled<2, 10, 3, 11, 6, 14, 7, 15>(v[0], v[1]);
  const Floats c = simd::shuffled<0, 8, 1, 9, 4, 12, 5, 13>(v[2], v[3]);
  const Floats d = simd::shuffled<2, 10, 3, 11, 6, 14, 7, 15>(v[2], v[3]);
  v[0] = simd::shuffled<0, 1, 8, 9, 4, 5, 12, 13>(a, c);
  v[1] = simd::shuffled<2, 3, 10, 11, 6, 7, 14, 15>(a, c);
  v[2] = simd::shuffled<0, 1, 8, 9, 4, 5, 12, 13>(b, d);
  v[3] = simd::shuffled<2, 3, 10, 11, 6, 7, 14, 15>(b, d);
}
[[gnu::always_inline]] inline Floats low_halves(Floats a, Floats b) {
  return simd::shuffled<0, 1, 2, 3, 8, 9, 10, 11>(a, b);
}
[[gnu::always_inline]] inline Floats high_halves(Floats a, Floats b) {
  return simd::shuffled<4, 5, 6, 7, 12, 13, 14, 15>(a, b);
}
[[gnu::always_inline]] inline Floats load(const float* from) { return simd::load_as<Floats>(from); }

// v[j][t] = from[4 * t + j], and back.
[[gnu::always_inline]] inline void load_fours(const float* from, Floats (&v)[kOut]) {
  const Floats a = load(from), b = load(from + 8), c = load(from + 16), d = load(from + 24);
  v[0] = low_halves(a, c);
  v[1] = high_halves(a, c);
  v[2] = low_halves(b, d);
  v[3] = high_halves(b, d);
  turn(v);
}
[[gnu::always_inline]] inline void store_fours(Floats (&v)[kOut], float* to) {
  turn(v);
  simd::store(to, low_halves(v[0], v[1]));
  simd::store(to + 8, low_halves(v[2], v[3]));
  simd::store(to + 16, high_halves(v[0], v[1]));
  simd::store(to + 24, high_halves(v[2], v[3]));
}

// ---- A block of tiles: `down` rows of `across` ones, beginning at tile (row, column).

struct Block {
  int64_t row, column, down, across;

  int64_t vectors() const { return (across + kLanes - 1) / kLanes; }
  int64_t tiles() const { return down * across; }
  // Of one row of inputs, split into four so that the tiles' elements lie side by side.
  int64_t quarter() const { return vectors() * kLanes + kLanes; }
};

// One channel of one plane. `lines`: memory for its rows. Vectors that reach beyond a row of tiles are written over by
// what follows; the last one reaches beyond the block.
template <int kTall>
[[gnu::noinline]] void transform_channel(const convolution::Axes& axes, const float* x, const Block& block,
                                         float* lines, float* to, int64_t part) {
  const auto& [d, h, w] = axes.axis;
  const int64_t quarter = block.quarter(), line = kOut * quarter;
  const int64_t rows = kRows<kTall> * block.down + kTall - kRows<kTall>,
                left = w.dilation * kOut * block.column - w.pad;
  float* gathered = lines + rows * line;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t y = h.dilation * (kRows<kTall> * block.row + i) - h.pad;
    const bool inside = y >= 0 && y < h.input;
    const float* row = inside ? x + y * w.input : x;
    const int64_t width = inside ? w.input : 0;
    if (w.dilation > 1) convolution::copy_row(row, width, left, w.dilation, line, gathered);
    for (int64_t t = 0; t < quarter; t += kLanes) {
      const int64_t first = left + kOut * t;
      float edge[kOut * kLanes];
      const float* from = w.dilation > 1 ? gathered + kOut * t : row + first;
      if (w.dilation == 1 && (first < 0 || first + kOut * kLanes > width)) {
        convolution::copy_row(row, width, first, 1, kOut * kLanes, edge);
        from = edge;
      }
      Floats v[kOut];
      load_fours(from, v);
      for (int j = 0; j < kOut; ++j) simd::store(lines + i * line + j * quarter + t, v[j]);
    }
  }
  for (int64_t i = 0; i < block.down; ++i) {
    for (int64_t t = 0; t < block.across; t += kLanes) {
      const float* from = lines + kRows<kTall> * i * line + t;
      Floats half[kIn][kTall];
      KW_UNROLL for (int j = 0; j < kIn; ++j) {
        Floats column[kTall];
        KW_UNROLL for (int k = 0; k < kTall; ++k) {
          column[k] = load(from + k * line + (j % kOut) * quarter + j / kOut);
        }
        if constexpr (kTall == 1) {
          half[j][0] = column[0];
        } else {
          transform_input(column, 1, half[j]);
        }
      }
      KW_UNROLL for (int j = 0; j < kTall; ++j) {
        Floats whole[kIn];
        transform_input(&half[0][j], kTall, whole);
        KW_UNROLL for (int k = 0; k < kIn; ++k) simd::store(to + (j * kIn + k) * part + i * block.across + t, whole[k]);
      }
    }
  }
}

// One feature of one plane, from the sums of its parts for every tile.
template <int kTall>
[[gnu::noinline]] void transform_feature(const convolution::Axes& axes, const float* sums, int64_t part,
                                         const Block& block, float bias, float* y, int64_t y_row) {
  const auto& [d, h, w] = axes.axis;
  for (int64_t i = 0; i < block.down; ++i) {
    const int64_t first = kRows<kTall> * (block.row + i), rows = std::min<int64_t>(h.output - first, kRows<kTall>);
    for (int64_t t = 0; t < block.across; t += kLanes) {
      const float* from = sums + i * block.across + t;
      Floats half[kIn][kRows<kTall>];
      KW_UNROLL for (int j = 0; j < kIn; ++j) {
        Floats column[kTall];
        KW_UNROLL for (int k = 0; k < kTall; ++k) column[k] = load(from + (k * kIn + j) * part);
        if constexpr (kTall == 1) {
          half[j][0] = column[0];
        } else {
          transform_output(column, 1, half[j]);
        }
      }
      const int64_t left = kOut * (block.column + t), columns = std::min<int64_t>(w.output - left, kOut * kLanes);
      const int64_t mine = std::min<int64_t>(columns, kOut * (block.across - t));
      KW_UNROLL for (int k = 0; k < kRows<kTall>; ++k) {
        Floats whole[kOut];
        transform_output(&half[0][k], kRows<kTall>, whole);
        KW_UNROLL for (int j = 0; j < kOut; ++j) whole[j] += bias;
        const bool all = k < rows && mine == kOut * kLanes && w.dilation == 1;
        float some[kOut * kLanes];
        float* to = y + (first + k) * y_row + left * w.dilation;
        store_fours(whole, all ? to : some);
        for (int64_t o = 0; !all && k < rows && o < mine; ++o) to[o * w.dilation] = some[o];
      }
    }
  }
}

// ---- The whole.

// Memory of one thread, and how many floats of it there are for each.
struct Memory {
  float *lines, *parts, *sums;
  int32_t* offsets;
};
struct Sizes {
  int64_t lines, parts, sums;
};

inline int64_t whole_panels(int64_t columns) {
  return (columns + product::kPanel - 1) / product::kPanel * product::kPanel;
}
inline constexpr int64_t kBeyond = std::max(product::kPanel, kLanes);  // how far vectors reach beyond what is there

// In each part the channels, in each of them the planes that any output sees, those of the padding too, in each the
// tiles: what a tap of the first axis reads for all planes of the output lies side by side.
struct Planes {
  int64_t count, channel, part;

  Planes(const convolution::Axis& axis, int64_t channels, const Block& block)
      : count(axis.output + axis.kernel - 1),
        channel(whole_panels(count * block.tiles())),
        part(channels * channel + kBeyond) {}
};

// One block of one part of an image whose rows and planes of outputs are those of `whole`. With `threads` above 1 they
// share channels, then features; `memory`: of the first thread, `each` of them has its own lines and sums.
template <int kTall>
void run_block(const kw::Node& node, int threads, const convolution::Axes& axes, const float* x, int64_t channels,
               const float* weights, int64_t features, const float* bias, float* y, const convolution::Axes& whole,
               const Block& block, const Memory& memory, const Sizes& each) {
  const convolution::Axis &d = axes[0], &h = axes[1], &w = axes[2];
  const int64_t depth = d.kernel * channels, tiles = block.tiles(), columns = whole_panels(d.output * tiles);
  const int64_t y_row = whole[2].output, y_plane = whole[1].output * y_row;
  const Planes planes(d, channels, block);
  share_ranges(node, threads, channels, 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t p = 0; p < planes.count; ++p) {
        const int64_t z = p - d.pad;
        float* to = memory.parts + c * planes.channel + p * tiles;
        if (z >= 0 && z < d.input) {
          transform_channel<kTall>(axes, x + (c * d.input + z) * h.input * w.input, block,
                                   memory.lines + slot * each.lines, to, planes.part);
        } else {
          for (int f = 0; f < kParts<kTall>; ++f) std::fill_n(to + f * planes.part, tiles, 0.0f);
        }
      }
    }
  });
  for (int64_t k = 0; k < depth; ++k) {
    memory.offsets[k] = int32_t(k % channels * planes.channel + k / channels * tiles);
  }
  product::share_rows(node, threads, features, [&](int64_t i, int64_t rows, int slot) {
    float* const sums = memory.sums + slot * each.sums;
    for (int f = 0; f < kParts<kTall>; ++f) {
      const product::Gathered right{memory.parts + f * planes.part, memory.offsets};
      product::tiles_of(rows, {weights + (i * kParts<kTall> + f * rows) * depth, 1, rows}, right, depth,
                        {sums + f * rows * columns, columns, columns, false, nullptr});
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < d.output; ++o) {
        transform_feature<kTall>(axes, sums + r * columns + o * tiles, rows * columns, block,
                                 bias == nullptr ? 0 : bias[i + r], y + ((i + r) * d.output + o) * y_plane,
                                 y_row * h.dilation);
      }
    }
  });
}

// Outputs and inputs as far apart as a kernel's taps: those that begin at output (h, w) are a convolution of their own,
// whose kernel has no gaps.
inline convolution::Axes part_of(const convolution::Axes& axes, int64_t h, int64_t w) {
  convolution::Axes part = axes;
  const int64_t begin[2] = {h, w};
  for (int i = 0; i < 2; ++i) {
    convolution::Axis& axis = part[1 + i];
    axis.output = (axis.output - begin[i] + axis.dilation - 1) / axis.dilation;
    axis.pad -= begin[i];
  }
  return part;
}

template <int kTall>
int64_t tiles_down(const convolution::Axes& axes) {
  return (axes[1].output + kRows<kTall> - 1) / kRows<kTall>;
}
inline int64_t tiles_across(const convolution::Axes& axes) { return (axes[2].output + kOut - 1) / kOut; }

// Whether a convolution is of this kind, with tiles that are not mostly padding.
template <int kTall>
bool suits(const convolution::Axes& axes) {
  const auto& [d, h, w] = axes.axis;
  const bool tall = kTall == 1 ? h.kernel == 1 && h.dilation == 1 : h.kernel == 3;
  if (!tall || w.kernel != 3 || h.stride != 1 || w.stride != 1 || d.stride != 1 || d.dilation != 1) return false;
  if (h.output < h.dilation || w.output < w.dilation) return false;
  const convolution::Axes part = part_of(axes, 0, 0);
  return tiles_down<kTall>(part) * kRows<kTall> * tiles_across(part) * kOut <= 2 * part[1].output * part[2].output;
}

// All images; `weights` by transform_weights. Threads take blocks of tiles where there are enough of them: what one of
// them transforms stays in its own cache. Else they share the channels and features of each.
template <int kTall>
void run(const kw::Node& node, const convolution::Axes& axes, int64_t images, const float* x, int64_t channels,
         const float* weights, int64_t features, const float* bias, float* y) {
  const convolution::Axis& d = axes[0];
  const convolution::Axes largest = part_of(axes, 0, 0);
  const int64_t splits = (tiles_across(largest) + WINOGRAD_TILES - 1) / WINOGRAD_TILES;
  const int64_t across = (tiles_across(largest) + splits - 1) / splits;
  const int64_t down = std::clamp<int64_t>(WINOGRAD_TILES / (across * d.output), 1, tiles_down<kTall>(largest));
  const int64_t each_down = (tiles_down<kTall>(largest) + down - 1) / down, each_across = splits;
  const int64_t parts = axes[1].dilation * axes[2].dilation, blocks = images * parts * each_down * each_across;

  const Block first{0, 0, down, across};
  const Sizes each{.lines = (kRows<kTall> * down + kTall) * kOut * first.quarter(),
                   .parts = kParts<kTall> * Planes(d, channels, first).part,
                   .sums = kParts<kTall> * PRODUCT_ROWS * whole_panels(d.output * first.tiles()) + kBeyond};
  const int64_t products = images * features * axes.outputs() * channels * d.kernel;
  const int threads = threads_within(node, threads_for(node, products, kLeastSharedProducts),
                                     (each.lines + each.parts + each.sums + d.kernel * channels) * 4);
  const bool shares_blocks = blocks >= 2 * threads;
  const int slots = shares_blocks ? threads : 1, inner = shares_blocks ? 1 : threads;
  const Memory memory{.lines = node.scratch<float>(threads * each.lines),
                      .parts = node.scratch<float>(slots * each.parts),
                      .sums = node.scratch<float>(threads * each.sums),
                      .offsets = node.scratch<int32_t>(slots * d.kernel * channels)};
  share(node, slots, blocks, [&](int64_t number, int slot) KW_IN_PLACE {
    const int64_t column = number % each_across, row = number / each_across % each_down;
    const int64_t of_parts = number / (each_across * each_down), image = of_parts / parts;
    const int64_t h = of_parts % parts / axes[2].dilation, w = of_parts % axes[2].dilation;
    const convolution::Axes part = part_of(axes, h, w);
    Block block{row * down, column * across, 0, 0};
    block.down = std::min(down, tiles_down<kTall>(part) - block.row);
    block.across = std::min(across, tiles_across(part) - block.column);
    if (block.down <= 0 || block.across <= 0) return;  // a part that is smaller than the first
    const Memory own{memory.lines + slot * each.lines, memory.parts + slot * each.parts, memory.sums + slot * each.sums,
                     memory.offsets + slot * d.kernel * channels};
    run_block<kTall>(node, inner, part, x + image * channels * axes.inputs(), channels, weights, features, bias,
                     y + image * features * axes.outputs() + h * axes[2].output + w, axes, block, own, each);
  });
}

}  // namespace winograd
