#pragma once

#include <kernelwright.h>

// How the kernel of a convolution slides over the input, by a node's attributes.

namespace convolution {

struct Axis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  int64_t period = 1;  // taps so far apart share a phase
  int64_t length = 1;  // of one phase

  int64_t phases() const { return std::min(period, kernel); }
  int64_t phase(int64_t tap) const { return tap % period; }
  int64_t place(int64_t tap) const { return tap * dilation / stride; }
  // Input position of a place in a phase.
  int64_t position(int64_t phase, int64_t place) const { return place * stride + phase * dilation % stride - pad; }
  void find_phases() {
    int64_t a = stride, b = dilation;
    while (b != 0) {
      const int64_t rest = a % b;
      a = b;
      b = rest;
    }
    period = stride / a;
    length = output + place(kernel - 1);
  }
  bool plain() const { return stride == 1 && pad == 0 && output + (kernel - 1) * dilation <= input; }
};

// At least `count` elements, and an odd number of cache lines: what lies that far apart has room in the cache, unlike
// what a power of two parts.
inline int64_t unlike_cache_ways(int64_t count) { return ((count + 15) / 16 | 1) * 16; }

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
    int64_t count = 1;
    for (const Axis& a : axis) count *= a.phases() * a.length;
    return unlike_cache_ways(count);
  }
  bool plain() const { return axis[0].plain() && axis[1].plain() && axis[2].plain(); }
};

// How a Conv node slides over x.
[[gnu::noinline]] inline Axes axes_of(const kw::Node& node, const kw::Shape& x, const kw::Shape& w) {
  Axes axes;
  const int rank = x.rank - 2;
  const kw::List<int64_t> strides = node.integers("strides"), dilations = node.integers("dilations"),
                          pads = node.integers("pads");
  const char* auto_pad = node.text("auto_pad");
  const bool upper = strcmp(auto_pad, "SAME_UPPER") == 0, lower = strcmp(auto_pad, "SAME_LOWER") == 0;
  for (int i = 0; i < rank; ++i) {
    Axis& axis = axes[3 - rank + i];
    axis.input = x[2 + i];
    axis.kernel = w[2 + i];
    if (!strides.empty()) axis.stride = strides[i];
    if (!dilations.empty()) axis.dilation = dilations[i];
    const int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    if (upper || lower) {
      axis.output = (axis.input + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>((axis.output - 1) * axis.stride + span - axis.input, 0);
      axis.pad = upper ? total / 2 : total - total / 2;
    } else {
      const int64_t end = pads.empty() ? 0 : pads[rank + i];
      axis.pad = pads.empty() ? 0 : pads[i];
      axis.output = (axis.input + axis.pad + end - span) / axis.stride + 1;
    }
    axis.find_phases();
  }
  return axes;
}

}  // namespace convolution
