// Transposed convolution row by row, for large kernels: one product gives what every tap of a kernel's rows makes of
// the input's rows, over all channels and all pairs of rows that meet in a row of the output; then the taps are added
// up, each where it falls. No product is wasted on padding.
//
// serves: ConvTranspose
// types: float32
// when: rank0 == 4 && 2 * size1 > size0
// order: 10
#pragma once

#include <kernelwright.h>

#include "parts/transposed_convolution.h"

KW_COMPILER("clang++", "g++");

// The weights of one group: rows of the left matrix are feature by feature the taps along the last axis, and it goes
// through the rows of the kernel, in each through the channels.
inline void pack_taps(const transposed::Axes& axes, const float* w, int64_t channels, int64_t out, float* to) {
  const int64_t taps = axes.taps(), height = axes[1].kernel, width = axes[2].kernel;
  product::each_rows(out * width, [&](int64_t first, int64_t rows) {
    for (int64_t kh = 0; kh < height; ++kh) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = first; i < first + rows; ++i) {
          *to++ = w[(c * out + i / width) * taps + kh * width + i % width];
        }
      }
    }
  });
}

inline const void* prepare_ConvTranspose(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                         kw::Tensor<const float> w, kw::Tensor<const float>) {
  if (!w.given() || w.count() == 0 || x.rank() == 0) return nullptr;
  const int64_t groups = node.integer("group", 1), in = w.shape(0) / groups, out = w.shape(1);
  const transposed::Axes axes = transposed::axes_of(node, x.shape(), w.shape());
  float* packed = call.keep<float>(w.count());
  const int64_t size = w.count() / groups;
  for (int64_t g = 0; g < groups; ++g) pack_taps(axes, w.data() + g * size, in, out, packed + g * size);
  return packed;
}

inline void ConvTranspose(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                          kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  const int64_t groups = node.integer("group", 1), in = w.shape(0) / groups, out = w.shape(1);
  const transposed::Axes axes = transposed::axes_of(node, x.shape(), w.shape());
  const transposed::Axis &h = axes[1], &across = axes[2];
  y.allocate({x.shape(0), groups * out, h.output, across.output});
  if (y.count() == 0) return;
  const int64_t size = w.count() / groups, m = out * across.kernel, whole_depth = h.kernel * in;
  const int64_t width = (across.input + product::kPanel - 1) / product::kPanel * product::kPanel;
  const int64_t reach = (across.input - 1) * across.stride + (across.kernel - 1) * across.dilation + 1;
  float* packed = kept == nullptr ? node.scratch<float>(size) : nullptr;
  float* copies = node.scratch<float>(in * h.input * width);
  const int threads =
      threads_within(node, threads_for(node, in * h.input * across.input * m * h.kernel, kLeastSharedProducts),
                     (m * width + out * reach + whole_depth) * 4);
  float* all_products = node.scratch<float>(threads * m * width);
  float* all_sums = node.scratch<float>(threads * out * reach);
  int32_t* all_offsets = node.scratch<int32_t>(threads * whole_depth);
  const product::Finish finish;

  for (int64_t image = 0; image < x.shape(0) * groups; ++image) {
    const int64_t g = image % groups;
    const float* weights = kept == nullptr ? packed : static_cast<const float*>(kept) + g * size;
    if (kept == nullptr) pack_taps(axes, w.data() + g * size, in, out, packed);
    share_ranges(node, threads, in * h.input, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t i = begin; i < end; ++i) {
        convolution::copy_row(x.data() + (image * in * h.input + i) * across.input, across.input, 0, 1, width,
                              copies + i * width);
      }
    });
    share(node, threads, h.output, [&](int64_t oh, int slot) KW_IN_PLACE {
      float* const products = all_products + slot * m * width;
      float* const sums = all_sums + slot * out * reach;
      int32_t* const offsets = all_offsets + slot * whole_depth;
      bool begun = false;
      for (int64_t kh = 0; kh < h.kernel;) {
        // The taps next to each other that bring an input row here.
        int64_t depth = 0;
        const int64_t first = kh;
        for (; kh < h.kernel; ++kh) {
          const int64_t way = oh + h.pad - kh * h.dilation, line = way / h.stride;
          if (way < 0 || way % h.stride != 0 || line >= h.input) break;
          for (int64_t c = 0; c < in; ++c) offsets[depth++] = int32_t((c * h.input + line) * width);
        }
        if (depth == 0) {
          ++kh;
          continue;
        }
        product::each_rows(m, [&](int64_t i, int64_t rows) {
          const product::Left left{weights + i * whole_depth + first * in * rows, 1, rows};
          product::multiply_rows(rows, depth, left, product::Gathered{copies, offsets},
                                 {products + i * width, width, width, begun, &finish});
        });
        begun = true;
      }
      for (int64_t i = 0; i < out * reach; ++i) sums[i] = 0;
      for (int64_t k = 0; begun && k < across.kernel; ++k) {
        for (int64_t o = 0; o < out; ++o) {
          const float* from = products + (o * across.kernel + k) * width;
          float* to = sums + o * reach + k * across.dilation;
          if (across.stride == 1) {
            for (int64_t i = 0; i < across.input; ++i) to[i] += from[i];
          } else {
            for (int64_t i = 0; i < across.input; ++i) to[i * across.stride] += from[i];
          }
        }
      }
      for (int64_t o = 0; o < out; ++o) {
        const float added = bias.given() ? bias[g * out + o] : 0;
        float* to = y.data() + ((image * out + o) * h.output + oh) * across.output;
        const float* from = sums + o * reach + across.pad;
        const int64_t inside = std::clamp<int64_t>(reach - across.pad, 0, across.output);
        for (int64_t i = 0; i < inside; ++i) to[i] = from[i] + added;
        for (int64_t i = inside; i < across.output; ++i) to[i] = added;
      }
    });
  }
}
