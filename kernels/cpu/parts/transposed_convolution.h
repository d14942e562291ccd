#pragma once

#include <kernelwright.h>

#include "convolution.h"

// The axes of a transposed convolution: input i reaches output i * stride + k * dilation - pad through tap k. Outputs
// that are a stride apart form a phase. All of a phase are reached through the same taps, those whose k * dilation has
// its remainder by the stride: output t of the phase that begins at r reads input t + first(r) - steps(k).

namespace transposed {

struct Axis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;

  int64_t remainder(int64_t r) const { return (r + pad) % stride; }
  int64_t first(int64_t r) const { return (r + pad) / stride; }
  int64_t steps(int64_t tap) const { return tap * dilation / stride; }
  bool reaches(int64_t tap, int64_t remainder) const { return tap * dilation % stride == remainder; }
  int64_t count(int64_t r) const { return r < output ? (output - r + stride - 1) / stride : 0; }
  int64_t phases() const { return std::min(stride, output); }
  // A copy of the input with all that any output reads: it begins at input -before().
  int64_t before() const { return steps(kernel - 1); }
  int64_t length() const { return before() + (output - 1 + pad) / stride + 1; }
};

// The last three axes, lengths of 1 before those that there are.
struct Axes {
  Axis axis[3];

  const Axis& operator[](int i) const { return axis[i]; }
  Axis& operator[](int i) { return axis[i]; }
  int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  int64_t inputs() const { return axis[0].input * axis[1].input * axis[2].input; }
  int64_t outputs() const { return axis[0].output * axis[1].output * axis[2].output; }
  // From a copied channel to the next.
  int64_t copied() const {
    return convolution::unlike_cache_ways(axis[0].length() * axis[1].length() * axis[2].length());
  }
};

[[gnu::noinline]] inline Axes axes_of(const kw::Node& node, const kw::Shape& x, const kw::Shape& w) {
  Axes axes;
  const int rank = x.rank - 2;
  const kw::List<int64_t> strides = node.integers("strides"), dilations = node.integers("dilations"),
                          pads = node.integers("pads"), more = node.integers("output_padding"),
                          lengths = node.integers("output_shape");
  const char* auto_pad = node.text("auto_pad");
  const bool upper = strcmp(auto_pad, "SAME_UPPER") == 0, lower = strcmp(auto_pad, "SAME_LOWER") == 0;
  for (int i = 0; i < rank; ++i) {
    Axis& axis = axes[3 - rank + i];
    axis.input = x[2 + i];
    axis.kernel = w[2 + i];
    if (!strides.empty()) axis.stride = strides[i];
    if (!dilations.empty()) axis.dilation = dilations[i];
    const int64_t whole =
        axis.stride * (axis.input - 1) + (more.empty() ? 0 : more[i]) + (axis.kernel - 1) * axis.dilation + 1;
    if (!lengths.empty() || upper || lower) {
      axis.output = lengths.empty() ? axis.input * axis.stride : lengths[i];
      const int64_t total = std::max<int64_t>(whole - axis.output, 0);
      axis.pad = upper ? total / 2 : total - total / 2;
    } else {
      axis.pad = pads.empty() ? 0 : pads[i];
      axis.output = whole - axis.pad - (pads.empty() ? 0 : pads[rank + i]);
    }
  }
  return axes;
}

[[gnu::noinline]] inline void copy_channel(const Axes& axes, const float* x, float* to) {
  const auto& [d, h, w] = axes.axis;
  const int64_t depth = d.length(), height = h.length(), width = w.length();
  const int64_t above = h.before(), left = w.before();
  for (int64_t i = 0, z = -d.before(); i < depth; ++i, ++z) {
    for (int64_t j = 0, y = -above; j < height; ++j, ++y, to += width) {
      const bool inside = z >= 0 && z < d.input && y >= 0 && y < h.input;
      convolution::copy_row(inside ? x + (z * h.input + y) * w.input : x, inside ? w.input : 0, -left, 1, width, to);
    }
  }
}

// Calls of(tap, offset) for the taps of a phase, in their order; the offset is that in a copied channel.
template <class Of>
inline void each_tap(const Axes& axes, const int64_t (&r)[3], const Of& of) {
  const auto& [d, h, w] = axes.axis;
  const int64_t rd = d.remainder(r[0]), rh = h.remainder(r[1]), rw = w.remainder(r[2]);
  for (int64_t kd = 0; kd < d.kernel; ++kd) {
    if (!d.reaches(kd, rd)) continue;
    for (int64_t kh = 0; kh < h.kernel; ++kh) {
      if (!h.reaches(kh, rh)) continue;
      for (int64_t kw = 0; kw < w.kernel; ++kw) {
        if (!w.reaches(kw, rw)) continue;
        of((kd * h.kernel + kh) * w.kernel + kw,
           -((d.steps(kd) * h.length() + h.steps(kh)) * w.length() + w.steps(kw)));
      }
    }
  }
}

// Calls of(r, index) for every phase.
template <class Of>
inline void each_phase(const Axes& axes, const Of& of) {
  int64_t index = 0;
  for (int64_t d = 0; d < axes[0].phases(); ++d) {
    for (int64_t h = 0; h < axes[1].phases(); ++h) {
      for (int64_t w = 0; w < axes[2].phases(); ++w) {
        const int64_t r[3] = {d, h, w};
        of(r, index++);
      }
    }
  }
}

// The weights of one group, phase behind phase, each tile by tile as products want them. w: one channel behind the
// other, `out` features in each.
[[gnu::noinline]] inline void pack_weights(const Axes& axes, const float* w, int64_t channels, int64_t out, float* to) {
  const int64_t taps = axes.taps();
  each_phase(axes, [&](const int64_t(&r)[3], int64_t) {
    int64_t depth = 0;
    each_tap(axes, r, [&](int64_t, int64_t) { depth += channels; });
    product::each_rows(out, [&](int64_t first, int64_t rows) {
      float* tile = to + first * depth;
      for (int64_t c = 0; c < channels; ++c) {
        each_tap(axes, r, [&](int64_t tap, int64_t) {
          for (int64_t i = 0; i < rows; ++i) *tile++ = w[(c * out + first + i) * taps + tap];
        });
      }
    });
    to += out * depth;
  });
}

}  // namespace transposed
