#pragma once

#include "cubic.cuh"

// GridSample: the values of images or volumes at the places that a grid names, from -1 to 1 along each axis.
struct GridSample_node {
  int64_t rank, channels, size, points;  // of an image: axes, elements of a channel; places
  int64_t lengths[3];
  int64_t mode, padding, align_corners;  // 'n'earest, 'l'inear, 'c'ubic; 'z'eros, 'b'order, 'r'eflection
};

#ifdef __CUDACC__
// The elements that a place along one axis reads, with their weights; those outside may be missing.
struct GridTaps {
  int64_t count, index[4];
  double weight[4];
};

__device__ inline double grid_reflected(double x, double low, double high) {
  const double width = high - low;
  if (width <= 0) return low;
  const double offset = fmod(fabs(x - low), 2 * width);
  return low + (offset > width ? 2 * width - offset : offset);
}

__device__ inline void add_grid_tap(const GridSample_node& of, int64_t length, double i, double weight,
                                    GridTaps* taps) {
  const double last = double(length - 1);
  if (i < 0 || i > last) {
    if (of.padding == 'z') return;
    const double low = of.align_corners != 0 ? 0 : -0.5, high = of.align_corners != 0 ? last : last + 0.5;
    if (of.padding == 'r') i = grid_reflected(i, low, high);
    i = fmin(fmax(i, 0.0), last);
  }
  taps->index[taps->count] = int64_t(i);
  taps->weight[taps->count++] = weight;
}

__device__ inline GridTaps grid_taps(const GridSample_node& of, int64_t length, double g) {
  const double last = double(length - 1);
  const double low = of.align_corners != 0 ? 0 : -0.5, high = of.align_corners != 0 ? last : last + 0.5;
  double x = of.align_corners != 0 ? (g + 1) / 2 * last : ((g + 1) * double(length) - 1) / 2;
  if (of.mode == 'n') x = rint(x);
  if (x < low || x > high) {
    if (of.padding == 'b') x = fmin(fmax(x, 0.0), last);
    if (of.padding == 'r') x = grid_reflected(x, low, high);
  }
  GridTaps taps{0, {0, 0, 0, 0}, {0, 0, 0, 0}};
  const double first = floor(x), t = x - first;
  if (of.mode == 'n') {
    add_grid_tap(of, length, x, 1, &taps);
  } else if (of.mode == 'l') {
    add_grid_tap(of, length, first, 1 - t, &taps);
    add_grid_tap(of, length, first + 1, t, &taps);
  } else {
    for (int k = -1; k <= 2; ++k) add_grid_tap(of, length, first + double(k), cubic_weight(t - double(k), -0.75), &taps);
  }
  return taps;
}

template <class T, class G>
__device__ T GridSample(const GridSample_node& of, int64_t i, const T* x, const G* grid) {
  const int64_t point = i % of.points, image = i / of.points / of.channels;
  const T* from = x + i / of.points * of.size;
  GridTaps taps[3];
  int64_t all = 1;
  for (int64_t axis = 0; axis < of.rank; ++axis) {
    // The grid names the last axis first.
    const double g = double(grid[(image * of.points + point) * of.rank + of.rank - 1 - axis]);
    taps[axis] = grid_taps(of, of.lengths[axis], g);
    all *= taps[axis].count;
  }
  double sum = 0;
  for (int64_t tap = 0; tap < all; ++tap) {
    int64_t rest = tap, at = 0, step = 1;
    double weight = 1;
    for (int64_t axis = of.rank - 1; axis >= 0; --axis) {
      const int64_t k = rest % taps[axis].count;
      rest /= taps[axis].count;
      at += taps[axis].index[k] * step;
      weight *= taps[axis].weight[k];
      step *= of.lengths[axis];
    }
    sum += weight * double(from[at]);
  }
  return T(sum);
}
#else
inline GridSample_node GridSample_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& grid) {
  GridSample_node of{};
  of.rank = x.shape.rank - 2;
  of.channels = x.shape[1];
  of.size = x.shape.count(2, x.shape.rank);
  *y = kw::Shape{x.shape[0], x.shape[1]};
  for (int axis = 0; axis < of.rank; ++axis) {
    of.lengths[axis] = x.shape[2 + axis];
    y->push(grid.shape[1 + axis]);
  }
  of.points = y->count(2, y->rank);
  const char* mode = node.text("mode", "linear");
  of.mode = mode[0] == 'b' ? mode[2] : mode[0];  // "bilinear" and "bicubic" are linear and cubic
  of.padding = node.text("padding_mode", "zeros")[0];
  of.align_corners = node.integer("align_corners");
  return of;
}
#endif
