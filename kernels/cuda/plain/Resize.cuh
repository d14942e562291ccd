#pragma once

#include "cubic.cuh"

// Resize: the tensor stretched or shrunk along its axes, interpolated between its elements.
struct ResizeAxis {
  int64_t from, to, touched;
  double scale, roi_start, roi_end;
};
struct Resize_node {
  int64_t rank, mode, places, nearest;  // the last three by letters, below
  int64_t antialias, exclude_outside;
  double cubic_a, outside;
  ResizeAxis axes[8];
};

#ifdef __CUDACC__
// Where element k of the result lies along an axis of the source.
__device__ inline double resize_place(int64_t places, const ResizeAxis& axis, int64_t k) {
  const double x = double(k), last = double(axis.from - 1), steps = double(axis.to - 1);
  if (places == 'a') return x / axis.scale;
  if (places == 't') return (x + 0.5) / axis.scale;
  if (places == 'c') return steps == 0 ? 0 : x * last / steps;
  if (places == 'p' && steps == 0) return 0;
  if (places == 'r') {
    if (steps == 0) return 0.5 * (axis.roi_start + axis.roi_end) * last;
    return axis.roi_start * last + x * (axis.roi_end - axis.roi_start) * last / steps;
  }
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (places != 's') return half_pixel;
  const double length = double(axis.from);
  return length / 2 * (1 - double(axis.to) / (axis.scale * length)) + half_pixel;
}

// The taps of one place along an axis: elements first, first + 1, ... count of them, and what their weights add up to.
struct ResizeTaps {
  int64_t first, count;
  double place, stretch, sum;
};

__device__ inline double resize_weight(const Resize_node& of, const ResizeAxis& axis, const ResizeTaps& taps,
                                       int64_t i) {
  if (of.mode == 'n' || axis.touched == 0) return 1;
  if (of.exclude_outside != 0 && (i < 0 || i >= axis.from)) return 0;
  const double distance = (double(i) - taps.place) * taps.stretch;
  return of.mode == 'l' ? fmax(0.0, 1 - fabs(distance)) : cubic_weight(distance, of.cubic_a);
}

__device__ inline ResizeTaps resize_taps(const Resize_node& of, const ResizeAxis& axis, int64_t k, double place) {
  if (axis.touched == 0) return {k, 1, place, 1, 1};
  if (of.mode == 'n') {
    const double nearest = of.nearest == 'f'   ? floor(place)
                           : of.nearest == 'c' ? ceil(place)
                           : of.nearest == 'd' ? ceil(place - 0.5)
                                               : floor(place + 0.5);
    return {int64_t(nearest), 1, place, 1, 1};
  }
  // Against aliasing the filter is stretched when the axis shrinks.
  const double stretch = of.antialias != 0 ? fmin(axis.scale, 1.0) : 1;
  const double reach = (of.mode == 'l' ? 1 : 2) / stretch;
  ResizeTaps taps{int64_t(floor(place - reach)) + 1, 0, place, stretch, 0};
  while (double(taps.first + taps.count) <= place + reach) {
    taps.sum += resize_weight(of, axis, taps, taps.first + taps.count);
    ++taps.count;
  }
  if (of.antialias == 0 && of.exclude_outside == 0) taps.sum = 1;
  return taps;
}

template <class T, class... Constants>
__device__ T Resize(const Resize_node& of, int64_t i, const T* x, const Constants*...) {
  ResizeTaps taps[8];
  int64_t all = 1;
  for (int64_t a = of.rank - 1; a >= 0; --a) {
    const ResizeAxis& axis = of.axes[a];
    const int64_t k = i % axis.to;
    i /= axis.to;
    const double place = resize_place(of.places, axis, k);
    if (axis.touched != 0 && of.places == 'r' && (place < 0 || place > double(axis.from - 1))) return T(of.outside);
    taps[a] = resize_taps(of, axis, k, place);
    all *= taps[a].count;
  }
  double sum = 0;
  for (int64_t tap = 0; tap < all; ++tap) {
    int64_t rest = tap, at = 0, step = 1;
    double weight = 1;
    for (int64_t a = of.rank - 1; a >= 0; --a) {
      const int64_t k = taps[a].first + rest % taps[a].count;
      rest /= taps[a].count;
      weight *= resize_weight(of, of.axes[a], taps[a], k) / taps[a].sum;
      const int64_t last = of.axes[a].from - 1;
      at += (k < 0 ? 0 : k > last ? last : k) * step;
      step *= of.axes[a].from;
    }
    if (of.mode == 'n') return x[at];
    sum += weight * double(x[at]);
  }
  return T(sum);
}
#else
inline Resize_node Resize_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& roi,
                               const Given& scales, const Given& sizes) {
  const auto places = [&](const char* name) { return node.is("coordinate_transformation_mode", name); };
  Resize_node of{};
  of.rank = x.shape.rank;
  of.mode = node.text("mode", "nearest")[0];
  of.places = places("asymmetric")             ? 'a'
              : places("tf_half_pixel_for_nn") ? 't'
              : places("align_corners")        ? 'c'
              : places("pytorch_half_pixel")   ? 'p'
              : places("tf_crop_and_resize")   ? 'r'
              : places("half_pixel_symmetric") ? 's'
                                               : 'h';
  of.nearest = node.is("nearest_mode", "floor")               ? 'f'
               : node.is("nearest_mode", "ceil")              ? 'c'
               : node.is("nearest_mode", "round_prefer_ceil") ? 'u'
                                                              : 'd';
  of.antialias = node.integer("antialias");
  of.exclude_outside = node.integer("exclude_outside");
  of.cubic_a = node.real("cubic_coeff_a", -0.75);
  of.outside = node.real("extrapolation_value");
  for (int i = 0; i < of.rank; ++i) of.axes[i] = {x.shape[i], x.shape[i], 0, 1, 0, 1};
  const kw::List<int64_t> named = node.integers("axes");
  const int64_t count = named.size() > 0 ? named.size() : of.rank;
  const auto axis_at = [&](int64_t i) -> ResizeAxis& {
    return of.axes[named.size() > 0 ? from_front(named[i], x.shape.rank) : i];
  };
  const bool crops = of.places == 'r', by_scale = scales.data != nullptr && scales.shape.count() > 0;
  const bool larger = node.is("keep_aspect_ratio_policy", "not_smaller");
  double common = larger ? 0 : INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    ResizeAxis& axis = axis_at(i);
    if (crops && roi.data != nullptr) {
      axis.roi_start = roi.number(i);
      axis.roi_end = roi.number(i + count);
    }
    if (by_scale) {
      axis.scale = scales.number(i);
      const float part = crops ? float(axis.roi_end - axis.roi_start) : 1;
      axis.to = static_cast<int64_t>(std::floor(float(axis.from) * part * float(scales.number(i))));
    } else if (sizes.data != nullptr) {
      axis.to = sizes.integer(i);
      axis.scale = axis.from == 0 ? 1 : double(axis.to) / double(axis.from);
      common = larger ? std::max(common, axis.scale) : std::min(common, axis.scale);
    }
  }
  if (!by_scale && node.has("keep_aspect_ratio_policy") && !node.is("keep_aspect_ratio_policy", "stretch")) {
    for (int64_t i = 0; i < count; ++i) {
      axis_at(i).scale = common;
      axis_at(i).to = static_cast<int64_t>(std::floor(common * double(axis_at(i).from) + 0.5));
    }
  }
  *y = kw::Shape();
  for (int i = 0; i < of.rank; ++i) {
    ResizeAxis& axis = of.axes[i];
    axis.touched = axis.from != axis.to || axis.scale != 1 || (crops && (axis.roi_start != 0 || axis.roi_end != 1));
    y->push(axis.to);
  }
  return of;
}
#endif
