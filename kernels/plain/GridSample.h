#pragma once

#include <kernelwright.h>

#include "parts/cubic.h"
#include "parts/wide.h"

// The elements that a place along one axis reads, with their weights; those outside may be missing.
template <class W>
struct GridTaps {
  int count = 0;
  int64_t index[4];
  W weight[4];
};

template <class W>
struct GridAxis {
  char mode;     // 'n'earest, 'l'inear or 'c'ubic
  char padding;  // 'z'eros, 'b'order or 'r'eflection
  bool align_corners;
  int64_t length;

  W low() const { return align_corners ? W(0) : W(-0.5); }
  W high() const { return align_corners ? W(length - 1) : W(length) - W(0.5); }
  W inside(W x) const { return std::min(std::max(x, W(0)), W(length - 1)); }
  W reflected(W x) const {
    const W width = high() - low();
    if (width <= 0) return low();
    const W offset = std::fmod(std::abs(x - low()), 2 * width);
    return low() + (offset > width ? 2 * width - offset : offset);
  }

  void add(W i, W weight, GridTaps<W>& taps) const {
    if (i < 0 || i > W(length - 1)) {
      if (padding == 'z') return;
      i = inside(padding == 'b' ? i : reflected(i));
    }
    taps.index[taps.count] = static_cast<int64_t>(i);
    taps.weight[taps.count++] = weight;
  }

  // Border and reflection first move the place itself inside, then the elements around it.
  GridTaps<W> taps(W g) const {
    W x = align_corners ? (g + 1) / 2 * W(length - 1) : ((g + 1) * W(length) - 1) / 2;
    if (mode == 'n') x = std::nearbyint(x);
    if (x < low() || x > high()) {
      if (padding == 'b') x = inside(x);
      if (padding == 'r') x = reflected(x);
    }
    GridTaps<W> taps;
    const W first = std::floor(x), t = x - first;
    if (mode == 'n') {
      add(x, 1, taps);
    } else if (mode == 'l') {
      add(first, 1 - t, taps);
      add(first + 1, t, taps);
    } else {
      for (int k = -1; k <= 2; ++k) add(first + W(k), cubic_weight(t - W(k), W(-0.75)), taps);
    }
    return taps;
  }
};

// GridSample: the values of images or volumes at the places that a grid names, from -1 to 1 along each axis.
template <class T, class G>
void GridSample(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const G> grid, kw::Tensor<T>& y) {
  using W = std::common_type_t<Wide<T>, Wide<G>>;
  const int rank = x.rank() - 2;
  kw::Shape shape{x.shape(0), x.shape(1)};
  for (int axis = 1; axis <= rank; ++axis) shape.push(grid.shape(axis));
  y.allocate(shape);
  const char* mode = node.text("mode");
  GridAxis<W> axes[3];
  for (int axis = 0; axis < rank; ++axis) {
    axes[axis] = {mode[0] == 'b' ? mode[2] : mode[0],  // "bilinear" and "bicubic" are linear and cubic
                  node.text("padding_mode")[0], node.integer("align_corners") != 0, x.shape(2 + axis)};
  }
  const int64_t channels = x.shape(1);
  const int64_t size = x.shape().count(2, x.rank());  // of one channel
  const int64_t points = shape.count(2, shape.rank);
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t point = 0; point < points; ++point) {
      // All combinations of the axes' taps: the same for every channel.
      int64_t count = 1, at[64] = {0};
      W weights[64] = {1};
      for (int axis = 0; axis < rank; ++axis) {
        // The grid names the last axis first.
        const GridTaps<W> taps = axes[axis].taps(W(grid[(n * points + point) * rank + rank - 1 - axis]));
        // From the last on: a combination makes room for the longer ones.
        for (int64_t i = count * taps.count - 1; i >= 0; --i) {
          const int64_t before = i / taps.count, tap = i % taps.count;
          at[i] = at[before] * axes[axis].length + taps.index[tap];
          weights[i] = weights[before] * taps.weight[tap];
        }
        count *= taps.count;
      }
      for (int64_t c = 0; c < channels; ++c) {
        const T* from = x.data() + (n * channels + c) * size;
        W sum = 0;
        for (int64_t i = 0; i < count; ++i) sum += weights[i] * W(from[at[i]]);
        y[(n * channels + c) * points + point] = T(sum);
      }
    }
  }
}
