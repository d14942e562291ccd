// Transposed convolution output by output: those that the same taps reach are a convolution without strides, which is a
// product whose right matrix is the input itself, seen through an offset for every tap.
//
// serves: ConvTranspose
// types: float32
// when: rank0 <= 5
// order: 20
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

// y[t * stride] = x[t]
inline void spread(const float* x, int64_t count, int64_t stride, float* y) {
  for (int64_t t = 0; t < count; ++t) y[t * stride] = x[t];
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
  const bool direct = last.stride == 1;
  const int64_t longest = std::max<int64_t>(last.count(0), product::kPanel);
  float* row = direct ? nullptr : node.scratch<float>(out * longest);

  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const float* weights = static_cast<const float*>(kept) + g * size;
      if (kept == nullptr) {
        pack_weights(axes, w.data() + g * size, in, out, packed);
        weights = packed;
      }
      for (int64_t c = 0; c < in; ++c) {
        copy_channel(axes, x.data() + ((n * groups + g) * in + c) * x_size, copies + c * axes.copied());
      }
      product::Finish finish;
      if (bias.given()) finish = {.added = bias.data() + g * out, .row = 1};
      float* to = y.data() + (n * groups + g) * out * y_size;
      for (int64_t line = 0; line < d.output * h.output; ++line) {
        const int64_t od = line / h.output, oh = line % h.output;
        const int64_t rd = od % d.stride, rh = oh % h.stride;
        const int64_t from_line =
            (od / d.stride + d.first(rd) + d.before()) * h.length() + oh / h.stride + h.first(rh) + h.before();
        for (int64_t r = 0; r < last.phases(); ++r) {
          const int64_t phase = (rd * h.phases() + rh) * last.phases() + r, columns = last.count(r);
          const int64_t depth = begin[phase + 1] - begin[phase];
          float* line_to = to + line * last.output + r;
          if (depth == 0) {
            for (int64_t o = 0; o < out; ++o) {
              const float value = bias.given() ? bias[g * out + o] : 0;
              for (int64_t t = 0; t < columns; ++t) line_to[o * y_size + t * last.stride] = value;
            }
            continue;
          }
          const convolution::Features features{out, depth, weights + out * begin[phase], true, finish};
          const product::Gathered from{copies + from_line * last.length() + last.first(r) + last.before(),
                                       offsets + begin[phase]};
          if (direct) {
            convolution::run_row(features, from, line_to, y_size, columns);
          } else {
            convolution::run_row(features, from, row, longest, columns);
            for (int64_t o = 0; o < out; ++o) spread(row + o * longest, columns, last.stride, line_to + o * y_size);
          }
        }
      }
    }
  }
}
