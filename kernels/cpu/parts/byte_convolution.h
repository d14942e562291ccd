#pragma once

#include <kernelwright.h>

#include "byte_product.h"
#include "convolution_axes.h"

// Convolutions of 8-bit numbers as products of weights with words of the image. The image is laid out once with its
// padding: a row of words for each row of the image, each word with kTogether channels at one place, or, where channels
// are few, one channel at kTogether taps of a row of the kernel. A tap then is an offset into these rows.

namespace bytes {

struct Words {
  convolution::Axes axes;
  int64_t channels;  // of a group
  bool of_taps;

  Words(const convolution::Axes& all, int64_t channels_) : axes(all), channels(channels_) {
    of_taps = channels * words_of(axes[2].kernel) < words_of(channels) * axes[2].kernel;
  }
  int64_t bundles() const { return of_taps ? channels : words_of(channels); }
  int64_t along() const { return of_taps ? words_of(axes[2].kernel) : axes[2].kernel; }  // words of a kernel's row
  int64_t count() const { return bundles() * axes[0].kernel * axes[1].kernel * along(); }

  // Elements of the image from one word of a kernel's row to the next.
  int64_t step() const { return (of_taps ? kTogether : 1) * axes[2].dilation; }
  // With stride 1 the words of a kernel's row are words of one plane, else each has a plane of its own.
  int64_t planes() const { return axes[2].stride == 1 ? 1 : along(); }
  int64_t length() const { return axes[2].output + (axes[2].stride == 1 ? (along() - 1) * step() : 0); }
  int64_t row() const { return planes() * length(); }
  // Elements of an axis, padding included, that any window sees.
  int64_t reach(int i) const {
    const convolution::Axis& axis = axes[i];
    const int64_t taps = i == 2 && of_taps ? along() * kTogether : axis.kernel;
    return (axis.output - 1) * axis.stride + (taps - 1) * axis.dilation + 1;
  }
  int64_t rows() const { return bundles() * reach(0) * reach(1); }
  int64_t size() const { return rows() * row() + 2 * kPanel; }  // vectors go beyond the last one

  void find_offsets(int64_t* to) const {
    for (int64_t b = 0; b < bundles(); ++b) {
      for (int64_t z = 0; z < axes[0].kernel; ++z) {
        for (int64_t y = 0; y < axes[1].kernel; ++y) {
          const int64_t first = ((b * reach(0) + z * axes[0].dilation) * reach(1) + y * axes[1].dilation) * row();
          for (int64_t t = 0; t < along(); ++t) *to++ = first + t * (axes[2].stride == 1 ? step() : length());
        }
      }
    }
  }
  // The row of words in which the windows of an output's row begin.
  int64_t begin(int64_t output_row) const {
    const int64_t z = output_row / axes[1].output, y = output_row % axes[1].output;
    return (z * axes[0].stride * reach(1) + y * axes[1].stride) * row();
  }
};

// ---- Weights: the left matrix.

// A feature's weights in the order of the words; those that no tap has are seen as 0.
template <class F>
inline void arrange(const Words& words, const F* w, F* to) {
  const auto& axes = words.axes;
  const int64_t rows = axes[0].kernel * axes[1].kernel, width = axes[2].kernel;
  for (int64_t b = 0; b < words.bundles(); ++b) {
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t t = 0; t < words.along(); ++t) {
        for (int64_t e = 0; e < kTogether; ++e) {
          const int64_t c = words.of_taps ? b : b * kTogether + e, tap = words.of_taps ? t * kTogether + e : t;
          *to++ = c < words.channels && tap < width ? w[(c * rows + y) * width + tap] : F(-kLeftShift<F>);
        }
      }
    }
  }
}

// The words of all features, a row of ones as long as theirs, and the sums of the features' weights as they are seen.
inline int64_t weights_size(const Words& words, int64_t features) { return (features + 1) * words.count() + features; }
template <class F>
inline void pack_weights(const kw::Node& node, const Words& words, const F* w, int64_t groups, int64_t features,
                         int32_t* to) {
  const int64_t row = words.count() * kTogether, depth = words.channels * words.axes.taps();
  F* const arranged = node.scratch<F>(BYTE_ROWS * row);
  int32_t* const sums = to + (groups * features + 1) * words.count();
  for (int64_t g = 0; g < groups; ++g) {
    const Left left{to + g * features * words.count(), features, words.count()};
    for (int64_t t = 0; t < left.tiles(); ++t) {
      const int64_t first = g * features + left.begin(t);
      for (int64_t r = 0; r < left.height(t); ++r) arrange(words, w + (first + r) * depth, arranged + r * row);
      pack_left(arranged, row, row, left.height(t), to + first * words.count(), sums + first);
    }
  }
  F* const ones = node.scratch<F>(depth);
  std::fill(ones, ones + depth, F(1 - kLeftShift<F>));
  arrange(words, ones, arranged);
  pack_left(arranged, row, row, 1, to + groups * features * words.count(), static_cast<int32_t*>(nullptr));
}

// ---- The image.

// A row of words, from the image's position `z`, `y` on the first two axes. `rows`: memory for kTogether padded rows.
template <class X>
inline void pack_row(const Words& words, const X* image, int64_t bundle, int64_t z, int64_t y, X zero, X* rows,
                     int32_t* to) {
  const convolution::Axis &depth = words.axes[0], &height = words.axes[1], &width = words.axes[2];
  if (z < 0 || z >= depth.input || y < 0 || y >= height.input) {
    uint32_t word = 0;
    for (int e = 0; e < kTogether; ++e) word |= in_word(zero + kRightShift<X>, e);
    std::fill(to, to + words.row(), static_cast<int32_t>(word));
    return;
  }
  const int64_t reach = words.reach(2);
  const auto padded = [&](int64_t channel, X* own) {
    const X* const x = image + ((channel * depth.input + z) * height.input + y) * width.input;
    if (width.pad == 0 && reach <= width.input) return x;
    const int64_t begin = std::min(width.pad, reach), end = std::min(width.pad + width.input, reach);
    std::fill(own, own + begin, zero);
    memcpy(own + begin, x, static_cast<size_t>(end - begin));
    std::fill(own + end, own + reach, zero);
    return static_cast<const X*>(own);
  };
  const X* from[kTogether];
  for (int e = 0; e < kTogether; ++e) {
    from[e] = words.of_taps ? (e == 0 ? padded(bundle, rows) : from[e - 1] + width.dilation)
                            : padded(std::min(bundle * kTogether + e, words.channels - 1), rows + e * reach);
  }
  for (int64_t t = 0; t < words.planes(); ++t) {
    interleave(from, width.stride, words.length(), to + t * words.length());
    for (const X*& x : from) x += words.step();
  }
}

// A panel's columns, side by side: those from pixel `first` on.
inline void gather(const Words& words, const int32_t* image, const int64_t* offsets, int64_t first, int64_t columns,
                   int32_t* panel) {
  struct Run {
    int64_t from, to, count;
  };
  Run runs[kPanel];
  int count = 0;
  const int64_t width = words.axes[2].output;
  for (int64_t j = 0; j < columns; ++count) {
    const int64_t column = (first + j) % width;
    runs[count] = {words.begin((first + j) / width) + column, j, std::min(width - column, columns - j)};
    j += runs[count].count;
  }
  for (int64_t k = 0; k < words.count(); ++k, panel += kPanel) {
    for (int i = 0; i < count; ++i) {  // vectors go beyond a run: the next one overwrites that
      const int32_t* const from = image + offsets[k] + runs[i].from;
      for (int64_t j = 0; j < runs[i].count; j += kLanes) {
        simd::store(panel + runs[i].to + j, simd::load_as<Ints>(from + j));
      }
    }
  }
}

// done(feature, the result's first element, sums, count) for pieces of the result, at most a vector wide. `kept`: what
// pack_weights made, or null.
template <class X, class F, class Done>
inline void convolve(const kw::Node& node, const convolution::Axes& axes, kw::Tensor<const X> x, X x_zero,
                     kw::Tensor<const F> w, kw::Tensor<const F> w_zero, const void* kept, const Done& done) {
  const int64_t groups = node.integer("group", 1), features = w.shape(0) / groups, pixels = axes.outputs();
  const Words words(axes, w.shape(1));
  const int64_t depth = words.channels * axes.taps(), count = words.count();
  const auto* packed = static_cast<const int32_t*>(kept);
  if (packed == nullptr) {
    int32_t* const own = node.scratch<int32_t>(weights_size(words, w.shape(0)));
    pack_weights(node, words, w.data(), groups, features, own);
    packed = own;
  }
  const int32_t* const ones = packed + w.shape(0) * count;
  const int32_t* const weight_sums = ones + count;

  // Of each feature: what is added to its sums, and how often the sum of the window is taken off.
  auto* const added = node.scratch<uint32_t>(w.shape(0));
  auto* const less = node.scratch<uint32_t>(w.shape(0));
  const auto p = static_cast<uint32_t>(x_zero + kRightShift<X>);
  bool windows = false;
  for (int64_t f = 0; f < w.shape(0); ++f) {
    less[f] = static_cast<uint32_t>((w_zero.given() ? w_zero[w_zero.count() == 1 ? 0 : f] : F(0)) + kLeftShift<F>);
    added[f] = p * (static_cast<uint32_t>(depth) * less[f] - static_cast<uint32_t>(weight_sums[f]));
    windows |= less[f] != 0;
  }
  auto* const offsets = node.scratch<int64_t>(count);
  words.find_offsets(offsets);

  // Whole images for each thread, where there are enough of them.
  const int64_t images = x.shape(0) * groups;
  int threads = threads_for(node, images * pixels * features * depth, kLeastSharedProducts);
  threads = threads_within(node, threads, (words.size() + (count + 1) * kPanel) * 4 + kTogether * words.reach(2));
  const int outer = images >= 2 * threads ? threads : 1, inner = outer > 1 ? 1 : threads;
  const bool as_it_lies = axes.taps() == 1 && axes.plain();
  const bool by_rows = features <= 16 || axes[2].output >= 4 * kPanel;
  auto* const layouts = node.scratch<int32_t>(outer * words.size());
  auto* const padded = node.scratch<X>(threads * kTogether * words.reach(2));
  auto* const panels = node.scratch<int32_t>(threads * (count + 1) * kPanel);

  share(node, outer, images, [&](int64_t image, int outer_slot) KW_IN_PLACE {
    const X* const from = x.data() + image * words.channels * axes.inputs();
    int32_t* const layout = layouts + outer_slot * words.size();
    const auto own_slot = [&](int slot) { return inner > 1 ? slot : outer_slot; };
    share_ranges(node, inner, words.rows(), 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % words.reach(1), z = i / words.reach(1) % words.reach(0);
        pack_row(words, from, i / words.reach(1) / words.reach(0), z - axes[0].pad, y - axes[1].pad, x_zero,
                 padded + own_slot(slot) * kTogether * words.reach(2), layout + i * words.row());
      }
    });
    const int64_t first_feature = image % groups * features;
    const Left left{packed + first_feature * count, features, count};
    const auto columns_of = [&](const auto& right, int64_t pixel, int64_t columns) {
      alignas(64) int32_t sums_of_windows[kPanel] = {};
      if (windows) tile<1>(ones, right, count, sums_of_windows);
      down(left, 0, left.tiles(), right, [&](int64_t row, int64_t rows, const int32_t* sums) {
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t f = first_feature + row + r, to = (image * features + row + r) * pixels + pixel;
          for (int64_t j = 0; j < columns; j += kLanes) {
            const Unsigned sum = simd::load_as<Unsigned>(sums + r * kPanel + j) + added[f] -
                                 simd::load_as<Unsigned>(sums_of_windows + j) * less[f];
            done(f, to + j, sum, std::min<int64_t>(kLanes, columns - j));
          }
        }
      });
    };
    const int64_t width = axes[2].output;
    if (by_rows && !as_it_lies) {
      share_ranges(node, inner, pixels / width, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
        for (int64_t row = begin; row < end; ++row) {
          for (int64_t j = 0; j < width; j += kPanel) {
            columns_of(Gathered{layout + words.begin(row) + j, offsets}, row * width + j,
                       std::min<int64_t>(kPanel, width - j));
          }
        }
      });
      return;
    }
    share_ranges(node, inner, panels_of(pixels), 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
      int32_t* const panel = panels + own_slot(slot) * (count + 1) * kPanel;
      for (int64_t pixel = begin * kPanel; pixel < std::min(end * kPanel, pixels); pixel += kPanel) {
        const int64_t columns = std::min<int64_t>(kPanel, pixels - pixel);
        if (as_it_lies) {
          columns_of(Panel{layout + pixel, pixels}, pixel, columns);
        } else {
          gather(words, layout, offsets, pixel, columns, panel);
          columns_of(Panel{panel, kPanel}, pixel, columns);
        }
      }
    });
  });
}

}  // namespace bytes
