#pragma once

#include <kernelwright.h>

#include "convolution_axes.h"
#include "product.h"

// Convolutions as matrix products that are never laid out: row k of the right matrix is the input as one tap of one
// channel sees it, so it only takes an offset for each tap. For that, an input that is padded or read with strides is
// copied with its padding, and split into phases: elements that are a stride apart come to lie next to each other. At
// output o, tap k of an axis reads padded position o * stride + k * dilation: position o + k * dilation / stride of
// phase k * dilation % stride.

KW_TUNE(CONV_COLUMNS, 64, 32, 64, 128, 256);  // of the output at a time

namespace convolution {

inline simd::Eight every_second(const float* from) {
  return simd::shuffled<0, 2, 4, 6, 8, 10, 12, 14>(simd::load_as<simd::Eight>(from),
                                                   simd::load_as<simd::Eight>(from + 8));
}

// One row of a phase: `count` places from input position `first`, zeros outside of the input.
[[gnu::noinline]] inline void copy_row(const float* from, int64_t input, int64_t first, int64_t stride, int64_t count,
                                       float* to) {
  constexpr int64_t kLanes = simd::kLanes;
  const auto steps = [&](int64_t length) {  // divisions by what is not known take longer than a short row
    return stride == 1 ? length : stride == 2 ? (length + 1) / 2 : (length + stride - 1) / stride;
  };
  int64_t i = first >= 0 ? 0 : std::min(steps(-first), count);
  const int64_t inside = input <= first ? 0 : std::min(steps(input - first), count);
  KW_KEEP_LOOP for (int64_t k = 0; k < i; ++k) to[k] = 0;
  from += first;
  if (stride == 1) {
    if (inside - i >= kLanes) {
      KW_KEEP_LOOP for (; i + kLanes <= inside; i += kLanes) simd::store(to + i, simd::load(from + i));
      simd::store(to + inside - kLanes, simd::load(from + inside - kLanes));
      i = inside;
    }
  } else if (stride == 2) {
    for (; i + 8 <= inside && 2 * (i + 8) <= input - first; i += 8) simd::store(to + i, every_second(from + 2 * i));
  }
  KW_KEEP_LOOP for (; i < inside; ++i) to[i] = from[i * stride];
  KW_KEEP_LOOP for (; i < count; ++i) to[i] = 0;
}

// One channel, phase by phase; of the middle axis only as many places as `rows` outputs see.
[[gnu::noinline]] inline void copy_channel(const Axes& axes, const float* x, int64_t rows, float* to) {
  const auto& [d, h, w] = axes.axis;
  const int64_t places = std::min(h.length, h.place(h.kernel - 1) + rows);
  for (int64_t dp = 0; dp < d.phases(); ++dp) {
    for (int64_t hp = 0; hp < h.phases(); ++hp) {
      for (int64_t wp = 0; wp < w.phases(); ++wp) {
        const int64_t left = w.position(wp, 0);
        int64_t z = d.position(dp, 0);
        for (int64_t i = 0; i < d.length; ++i, z += d.stride) {
          int64_t y = h.position(hp, 0);
          for (int64_t j = 0; j < places; ++j, y += h.stride) {
            const bool inside = z >= 0 && z < d.input && y >= 0 && y < h.input;
            copy_row(inside ? x + (z * h.input + y) * w.input : x, inside ? w.input : 0, left, w.stride, w.length,
                     to + (i * h.length + j) * w.length);
          }
        }
        to += d.length * h.length * w.length;
      }
    }
  }
}

// Where every tap of every channel reads: in copies of the channels, or in the input itself.
[[gnu::noinline]] inline void find_offsets(const Axes& axes, int64_t channels, bool copied, int32_t* offsets) {
  const auto& [d, h, w] = axes.axis;
  const int64_t height = copied ? h.length : h.input, width = copied ? w.length : w.input;
  const int64_t plane = d.length * height * width;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t channel = c * (copied ? axes.copied() : axes.inputs());
    for (int64_t kd = 0; kd < d.kernel; ++kd) {
      for (int64_t kh = 0; kh < h.kernel; ++kh) {
        for (int64_t kw = 0; kw < w.kernel; ++kw) {
          const int64_t phase = (d.phase(kd) * h.phases() + h.phase(kh)) * w.phases() + w.phase(kw);
          *offsets++ = int32_t(channel + phase * plane + (d.place(kd) * height + h.place(kh)) * width + w.place(kw));
        }
      }
    }
  }
}

// The weights of `features` features, each a row, tile by tile as the products want them.
[[gnu::cold, gnu::noinline]] inline void pack_weights(const float* w, int64_t features, int64_t depth, float* to) {
  product::each_rows(features, [&](int64_t i, int64_t rows) {
    product::pack_rows({w + i * depth, depth, 1}, rows, depth, to + i * depth);
  });
}

// The weights of a group of features, and what is added to each.
struct Features {
  int64_t count, depth;
  const float* weights;
  bool packed;  // by pack_weights
  product::Finish finish;
};

// One row of the output of a single feature. The last vector begins earlier; with fewer columns than it has lanes,
// memory behind the input's rows is read.
[[gnu::noinline]] inline void run_one(const Features& features, product::Gathered from, float* to, int64_t columns) {
  using product::Floats, product::kLanes;
  const float* weights = features.weights;
  const Floats begin = simd::splat(features.finish.added == nullptr ? 0 : *features.finish.added);
  const int64_t depth = features.depth;
  int64_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) {
    Floats sums[4] = {begin, begin, begin, begin};
    for (int64_t k = 0; k < depth; ++k) {
      const float* row = from.row(k) + j;
      const Floats weight = simd::splat(weights[k]);
      KW_UNROLL for (int v = 0; v < 4; ++v) sums[v] = simd::fma(weight, simd::load(row + v * kLanes), sums[v]);
    }
    KW_UNROLL for (int v = 0; v < 4; ++v) simd::store(to + j + v * kLanes, sums[v]);
  }
  for (; j < columns; j += kLanes) {
    j = std::max<int64_t>(std::min<int64_t>(j, columns - kLanes), 0);
    Floats sum = begin;
    for (int64_t k = 0; k < depth; ++k) sum = simd::fma(simd::splat(weights[k]), simd::load(from.row(k) + j), sum);
    if (columns >= kLanes) {
      simd::store(to + j, sum);
    } else {
      simd::store_some(to, sum, columns);
    }
  }
}

// One row of the output of all features, a part of its columns after the other: what they read stays in the cache.
[[gnu::noinline]] inline void run_row(const Features& features, product::Gathered from, float* to, int64_t to_feature,
                                      int64_t columns) {
  if (features.count == 1) return run_one(features, from, to, columns);
  for (int64_t j = 0; j < columns;) {
    const int64_t width = columns - j < CONV_COLUMNS + product::kPanel ? columns - j : CONV_COLUMNS;
    product::each_rows(features.count, [&](int64_t i, int64_t rows) {
      const float* weights = features.weights + i * features.depth;
      const product::Left left =
          features.packed ? product::Left{weights, 1, rows} : product::Left{weights, features.depth, 1};
      const product::Finish finish = features.finish.at(i, 0);
      product::multiply_rows(rows, features.depth, left, from.at(j),
                             {to + i * to_feature + j, to_feature, width, false, &finish});
    });
    j += width;
  }
}

// Some rows of the output of a single feature with a kernel of 3 x 3 on one channel, of at least two vectors a row:
// down the rows, so that what an input's row gives to three of the output's is read once. `pitch`: from a row to the
// next.
[[gnu::noinline]] inline void run_nine(const Features& features, product::Gathered from, int64_t pitch, int64_t rows,
                                       float* y, int64_t columns) {
  using product::Floats, product::kLanes;
  const Floats begin = simd::splat(features.finish.added == nullptr ? 0 : *features.finish.added);
  Floats weights[9];
  KW_UNROLL for (int k = 0; k < 9; ++k) weights[k] = simd::splat(features.weights[k]);
  for (int64_t j = 0; j < columns; j += 2 * kLanes) {
    j = std::min<int64_t>(j, columns - 2 * kLanes);
    const float* row[3] = {from.row(0) + j, from.row(1) + j, from.row(2) + j};
    Floats sums[2][2] = {{begin, begin}, {begin, begin}};
    for (int64_t i = -2; i < rows; ++i) {
      KW_UNROLL for (int v = 0; v < 2; ++v) {
        Floats above = sums[0][v], here = sums[1][v], below = begin;
        KW_UNROLL for (int k = 0; k < 3; ++k) {
          const Floats x = simd::load(row[k] + (i + 2) * pitch + v * kLanes);
          above = simd::fma(weights[6 + k], x, above);
          here = simd::fma(weights[3 + k], x, here);
          below = simd::fma(weights[k], x, below);
        }
        if (i >= 0) simd::store(y + i * columns + j + v * kLanes, above);
        sums[0][v] = here;
        sums[1][v] = below;
      }
    }
  }
}

// The outputs of one image in `count` rows of the middle axis from `first` on. Offsets are those of an image of which
// `most` rows are copied at a time, or null copies: of the image as it lies.
[[gnu::noinline]] inline void run_rows(const Axes& axes, const float* x, int64_t channels, const Features& features,
                                       float* y, float* copies, const int32_t* offsets, int64_t most, int64_t first,
                                       int64_t count) {
  const int64_t y_size = axes.outputs();
  Axes part = axes;
  part[1].length = most + part[1].place(part[1].kernel - 1);
  part[1].pad -= first * part[1].stride;
  const bool copied = copies != nullptr;
  const int64_t height = copied ? part[1].length : axes[1].input, width = copied ? axes[2].length : axes[2].input;
  for (int64_t c = 0; copied && c < channels; ++c) {
    copy_channel(part, x + c * axes.inputs(), count, copies + c * part.copied());
  }
  const float* from = copied ? copies : x + first * width;
  if (features.count == 1 && features.depth == 9 && axes[1].kernel == 3 && axes[2].kernel == 3 && axes[1].stride == 1 &&
      axes[1].dilation == 1 && axes[0].output == 1 && axes[2].output >= 2 * product::kLanes) {
    return run_nine(features, {from, offsets}, width, count, y + first * axes[2].output, axes[2].output);
  }
  for (int64_t od = 0; od < axes[0].output; ++od) {
    for (int64_t oh = 0; oh < count; ++oh) {
      run_row(features, {from + (od * height + oh) * width, offsets},
              y + (od * axes[1].output + first + oh) * axes[2].output, y_size, axes[2].output);
    }
  }
}

// Of up to four rows the sums of products with a vector.
template <int kRows>
inline void dots(const float* rows, int64_t row, const float* vector, int64_t count, float* sums) {
  product::Floats parts[kRows][2] = {};
  int64_t k = 0;
  for (; k + 2 * product::kLanes <= count; k += 2 * product::kLanes) {
    KW_UNROLL for (int v = 0; v < 2; ++v) {
      const product::Floats right = simd::load(vector + k + v * product::kLanes);
      KW_UNROLL for (int r = 0; r < kRows; ++r) {
        parts[r][v] = simd::fma(simd::load(rows + r * row + k + v * product::kLanes), right, parts[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    sums[r] = simd::sum(parts[r][0] + parts[r][1]);
    for (int64_t i = k; i < count; ++i) sums[r] += rows[r * row + i] * vector[i];
  }
}

// A few outputs of many taps: the sums run along the weights.
[[gnu::noinline]] inline void run_by_dots(const Axes& axes, const float* x, int64_t channels, const float* weights,
                                          const Features& features, float* y, float* window) {
  const auto& [d, h, w] = axes.axis;
  const int64_t depth = features.depth, y_size = axes.outputs();
  for (int64_t o = 0; o < y_size; ++o) {
    const int64_t od = o / (h.output * w.output), oh = o / w.output % h.output, ow = o % w.output;
    float* to = window;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t kd = 0; kd < d.kernel; ++kd) {
        for (int64_t kh = 0; kh < h.kernel; ++kh, to += w.kernel) {
          const int64_t z = od * d.stride + kd * d.dilation - d.pad, line = oh * h.stride + kh * h.dilation - h.pad;
          const bool inside = z >= 0 && z < d.input && line >= 0 && line < h.input;
          copy_row(inside ? x + (c * d.input + z) * h.input * w.input + line * w.input : x, inside ? w.input : 0,
                   ow * w.stride - w.pad, w.dilation, w.kernel, to);
        }
      }
    }
    for (int64_t i = 0; i < features.count;) {
      float sums[4];
      const int64_t rows = features.count - i >= 4 ? 4 : 1;
      if (rows == 4) {
        dots<4>(weights + i * depth, depth, window, depth, sums);
      } else {
        dots<1>(weights + i * depth, depth, window, depth, sums);
      }
      for (int64_t r = 0; r < rows; ++r, ++i) {
        y[i * y_size + o] = features.finish.added == nullptr ? sums[r] : sums[r] + features.finish.added[i];
      }
    }
  }
}

}  // namespace convolution
