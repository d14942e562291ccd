// Transposed convolution output by output: those that the same taps reach are a convolution without strides, which is a
// product whose right matrix is the input itself, seen through an offset for every tap.
//
// serves: ConvTranspose
// types: float32
// when: rank0 <= 5
// order: 20
#pragma once

#include <kernelwright.h>

#include "parts/transposed_convolution.h"

KW_COMPILER("clang++", "g++");

// Constant weights, phase by phase and tile by tile.
inline const void* prepare_ConvTranspose(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                         kw::Tensor<const float> w, kw::Tensor<const float>) {
  if (!w.given() || w.count() == 0 || x.rank() == 0) return nullptr;
  const int64_t groups = node.integer("group", 1), in = w.shape(0) / groups, out = w.shape(1);
  const transposed::Axes axes = transposed::axes_of(node, x.shape(), w.shape());
  float* packed = call.keep<float>(w.count());
  const int64_t size = w.count() / groups;
  for (int64_t g = 0; g < groups; ++g) {
    transposed::pack_weights(axes, w.data() + g * size, in, out, packed + g * size);
  }
  return packed;
}

inline void store_in_turn(simd::Eight a, simd::Eight b, float* to) {
  simd::store(to, simd::shuffled<0, 8, 1, 9, 2, 10, 3, 11>(a, b));
  simd::store(to + 8, simd::shuffled<4, 12, 5, 13, 6, 14, 7, 15>(a, b));
}

// A row of the output from those of its phases, `pitch` apart: phase r has the taps from begin[r] to begin[r + 1]; one
// without any holds `value`.
[[gnu::noinline]] inline void join_phases(const transposed::Axis& axis, const float* rows, int64_t pitch,
                                          const int64_t* begin, float value, float* to) {
  const int64_t phases = axis.phases();
  if (phases == 2 && begin[1] > begin[0] && begin[2] > begin[1]) {
    int64_t t = 0;
    for (; 2 * t + 16 <= axis.output; t += 8) {
      store_in_turn(simd::load_as<simd::Eight>(rows + t), simd::load_as<simd::Eight>(rows + pitch + t), to + 2 * t);
    }
    KW_KEEP_LOOP for (int64_t i = 2 * t; i < axis.output; ++i) to[i] = rows[i % 2 * pitch + i / 2];
    return;
  }
  for (int64_t r = 0; r < phases; ++r) {
    if (begin[r + 1] > begin[r]) continue;
    std::fill_n(to, axis.output, value);
    break;
  }
  for (int64_t r = 0; r < phases; ++r, ++to) {
    if (begin[r + 1] == begin[r]) continue;
    const int64_t count = axis.count(r), stride = axis.stride;
    for (int64_t t = 0; t < count; ++t) to[t * stride] = rows[r * pitch + t];
  }
}

inline void ConvTranspose(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                          kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  using namespace transposed;
  const int64_t groups = node.integer("group", 1), in = w.shape(0) / groups, out = w.shape(1);
  const Axes axes = axes_of(node, x.shape(), w.shape());
  kw::Shape shape{x.shape(0), groups * out};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  const Axis &d = axes[0], &h = axes[1], &last = axes[2];
  const int64_t x_size = axes.inputs(), y_size = axes.outputs(), size = w.count() / groups;
  const int64_t phases = d.phases() * h.phases() * last.phases();

  // Every phase: how deep its sums are, and its taps' offsets behind those of the phases before it.
  int64_t* begin = node.scratch<int64_t>(phases + 1);
  int32_t* offsets = node.scratch<int32_t>(in * axes.taps());
  begin[0] = 0;
  each_phase(axes, [&](const int64_t(&r)[3], int64_t phase) {
    int64_t at = begin[phase];
    for (int64_t c = 0; c < in; ++c) {
      each_tap(axes, r, [&](int64_t, int64_t offset) { offsets[at++] = int32_t(c * axes.copied() + offset); });
    }
    begin[phase + 1] = at;
  });
  float* packed = kept == nullptr ? node.scratch<float>(size) : nullptr;
  float* copies = node.scratch<float>(in * axes.copied() + product::kPanel);
  const int64_t width = last.length(), height = h.length(), copied = axes.copied();
  int64_t *columns = node.scratch<int64_t>(last.phases()), *ahead = node.scratch<int64_t>(last.phases());
  for (int64_t r = 0; r < last.phases(); ++r) {
    columns[r] = last.count(r);
    ahead[r] = last.first(r) + last.before();
  }
  const bool direct = last.stride == 1;
  const int64_t longest = std::max<int64_t>(last.count(0), product::kPanel);
  const int64_t row_size = last.phases() * out * longest;
  const int threads = threads_within(node, threads_for(node, in * x_size * out * axes.taps(), kLeastSharedProducts),
                                     direct ? 0 : row_size * 4);  // of each image
  float* all_rows = direct ? nullptr : node.scratch<float>(threads * row_size);

  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const float* weights = static_cast<const float*>(kept) + g * size;
      if (kept == nullptr) {
        pack_weights(axes, w.data() + g * size, in, out, packed);
        weights = packed;
      }
      share_ranges(node, threads, in, 1, [&](int64_t first, int64_t end, int) KW_IN_PLACE {
        for (int64_t c = first; c < end; ++c) {
          copy_channel(axes, x.data() + ((n * groups + g) * in + c) * x_size, copies + c * copied);
        }
      });
      product::Finish finish;
      if (bias.given()) finish = {.added = bias.data() + g * out, .row = 1};
      float* to = y.data() + (n * groups + g) * out * y_size;
      const auto make_line = [&](int64_t line, float* rows) {
        const int64_t od = line / h.output, oh = line - od * h.output, rd = od % d.stride, rh = oh % h.stride;
        const int64_t from_line =
            ((od + d.pad) / d.stride + d.before()) * height + (oh + h.pad) / h.stride + h.before();
        const int64_t first = (rd * h.phases() + rh) * last.phases();
        float* line_to = to + line * last.output;
        for (int64_t r = 0; r < last.phases(); ++r) {
          const int64_t taps = begin[first + r], depth = begin[first + r + 1] - taps;
          if (depth == 0 && !direct) continue;
          const convolution::Features features{out, depth, weights + out * taps, true, finish};
          const product::Gathered from{copies + from_line * width + ahead[r], offsets + taps};
          convolution::run_row(features, from, direct ? line_to : rows + r * out * longest, direct ? y_size : longest,
                               columns[r]);
        }
        for (int64_t o = 0; !direct && o < out; ++o) {
          join_phases(last, rows + o * longest, out * longest, begin + first, bias.given() ? bias[g * out + o] : 0,
                      line_to + o * y_size);
        }
      };
      share_ranges(node, threads, d.output * h.output, 1, [&](int64_t first, int64_t end, int slot) KW_IN_PLACE {
        for (int64_t line = first; line < end; ++line) make_line(line, direct ? nullptr : all_rows + slot * row_size);
      });
    }
  }
}
