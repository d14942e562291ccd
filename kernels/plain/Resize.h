#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/axis.h"
#include "parts/cubic.h"
#include "parts/normal_axis.h"
#include "parts/wide.h"

// One axis that is resized.
struct ResizeAxis {
  int64_t from, to;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

// The lengths and scales of all axes. `crops`: of each only the part that `roi` names is wanted.
template <class R>
std::vector<ResizeAxis> resize_axes(const kw::Node& node, const kw::Shape& shape, kw::Tensor<const R> roi,
                                    kw::Tensor<const float> scales, kw::Tensor<const int64_t> sizes, bool crops) {
  std::vector<ResizeAxis> all;
  for (int axis = 0; axis < shape.rank; ++axis) all.push_back({shape[axis], shape[axis]});
  std::vector<ResizeAxis*> named;
  if (node.has("axes")) {
    for (int64_t axis : node.integers("axes"))
      named.push_back(&all[static_cast<std::size_t>(normal_axis(axis, shape.rank))]);
  } else {
    for (ResizeAxis& axis : all) named.push_back(&axis);
  }
  const auto count = static_cast<int64_t>(named.size());
  const bool larger = node.is("keep_aspect_ratio_policy", "not_smaller");
  double common = larger ? 0 : INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    ResizeAxis& axis = *named[static_cast<std::size_t>(i)];
    if (crops) {
      axis.roi_start = double(roi[i]);
      axis.roi_end = double(roi[i + count]);
    }
    if (scales.count() > 0) {
      axis.scale = double(scales[i]);
      const float part = crops ? float(axis.roi_end - axis.roi_start) : 1;
      axis.to = static_cast<int64_t>(std::floor(float(axis.from) * part * scales[i]));
    } else {
      axis.to = sizes[i];
      axis.scale = axis.from == 0 ? 1 : double(axis.to) / double(axis.from);
      common = larger ? std::max(common, axis.scale) : std::min(common, axis.scale);
    }
  }
  if (scales.count() > 0 || node.is("keep_aspect_ratio_policy", "stretch")) return all;
  for (ResizeAxis* axis : named) {
    axis->scale = common;
    axis->to = static_cast<int64_t>(std::floor(common * double(axis->from) + 0.5));
  }
  return all;
}

// Where element k of the result lies along its axis of the source. In double, as it is once for each axis: next to a
// step a place that is rounded to float reads another element.
inline double resize_place(const kw::Node& node, const ResizeAxis& axis, int64_t k) {
  const auto mode = [&](const char* name) { return node.is("coordinate_transformation_mode", name); };
  const double x = double(k), last = double(axis.from - 1), steps = double(axis.to - 1);
  if (mode("asymmetric")) return x / axis.scale;
  if (mode("tf_half_pixel_for_nn")) return (x + 0.5) / axis.scale;
  if (mode("align_corners")) return steps == 0 ? 0 : x * last / steps;
  if (mode("pytorch_half_pixel") && steps == 0) return 0;
  if (mode("tf_crop_and_resize")) {
    if (steps == 0) return 0.5 * (axis.roi_start + axis.roi_end) * last;
    return axis.roi_start * last + x * (axis.roi_end - axis.roi_start) * last / steps;
  }
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (!mode("half_pixel_symmetric")) return half_pixel;
  const double length = double(axis.from);
  return length / 2 * (1 - double(axis.to) / (axis.scale * length)) + half_pixel;
}

// Element `to` of the result takes up element `from` of the source, or the extrapolation value where that is -1.
struct ResizeTap {
  int64_t to, from;
  double weight;
};

// What element k of the result reads along an axis at a place.
inline void add_resize_taps(const kw::Node& node, const ResizeAxis& axis, int64_t k, double place,
                            std::vector<ResizeTap>& taps) {
  const int64_t last = axis.from - 1;
  if (node.is("coordinate_transformation_mode", "tf_crop_and_resize") && (place < 0 || place > double(last))) {
    taps.push_back({k, -1, 1});
    return;
  }
  if (node.is("mode", "nearest")) {
    const auto mode = [&](const char* name) { return node.is("nearest_mode", name); };
    const double nearest = mode("floor")                ? std::floor(place)
                           : mode("ceil")               ? std::ceil(place)
                           : mode("round_prefer_floor") ? std::ceil(place - 0.5)
                                                        : std::floor(place + 0.5);
    taps.push_back({k, std::clamp<int64_t>(static_cast<int64_t>(nearest), 0, last), 1});
    return;
  }
  const bool linear = node.is("mode", "linear"), antialias = node.integer("antialias") != 0;
  const bool exclude_outside = node.integer("exclude_outside") != 0;
  // Against aliasing the filter is stretched when the axis shrinks.
  const double stretch = antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = (linear ? 1 : 2) / stretch;
  const std::size_t first = taps.size();
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(place - reach)) + 1; double(i) <= place + reach; ++i) {
    if (exclude_outside && (i < 0 || i > last)) continue;
    const double distance = (double(i) - place) * stretch;
    const double weight =
        linear ? std::max(0.0, 1 - std::abs(distance)) : cubic_weight(distance, node.real("cubic_coeff_a"));
    taps.push_back({k, std::clamp<int64_t>(i, 0, last), weight});
    sum += weight;
  }
  if (!antialias && !exclude_outside) return;
  for (std::size_t i = first; i < taps.size(); ++i) taps[i].weight /= sum;
}

// Resizes one axis, by which x is seen as `from`, into y.
template <class B>
void resize_along(const kw::Node& node, const B* x, const AlongAxis& from, const ResizeAxis& axis, B* y) {
  std::vector<ResizeTap> taps;
  for (int64_t k = 0; k < axis.to; ++k) add_resize_taps(node, axis, k, resize_place(node, axis, k), taps);
  // Integers take the extrapolation value's whole part.
  const B outside = B(std::conditional_t<std::is_integral_v<B>, int64_t, B>(node.real("extrapolation_value")));
  const bool copies = node.is("mode", "nearest");
  const int64_t inner = from.inner;
  std::fill_n(y, from.outer * axis.to * inner, B(0));
  for (int64_t o = 0; o < from.outer; ++o) {
    for (const ResizeTap& tap : taps) {
      const B* source = x + (o * axis.from + tap.from) * inner;
      B* to = y + (o * axis.to + tap.to) * inner;
      if (tap.from < 0) {
        std::fill_n(to, inner, outside);
      } else if (copies) {
        for (int64_t i = 0; i < inner; ++i) to[i] = source[i];
      } else if constexpr (!std::is_integral_v<B>) {
        const B weight = B(tap.weight);
        for (int64_t i = 0; i < inner; ++i) to[i] += weight * source[i];
      }
    }
  }
}

// Resize: the tensor stretched or shrunk along its axes, interpolated between its elements. One axis after the other.
template <class T, class R>
void Resize(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const R> roi, kw::Tensor<const float> scales,
            kw::Tensor<const int64_t> sizes, kw::Tensor<T>& y) {
  using B = std::conditional_t<std::is_integral_v<T>, T, Wide<T>>;  // between the axes; integers are only copied
  const bool crops = node.is("coordinate_transformation_mode", "tf_crop_and_resize");
  const std::vector<ResizeAxis> axes = resize_axes(node, x.shape(), roi, scales, sizes, crops);
  kw::Shape shape;
  for (const ResizeAxis& axis : axes) shape.push(axis.to);
  y.allocate(shape);
  std::vector<int> touched;
  for (int i = 0; i < x.rank(); ++i) {
    const ResizeAxis& axis = axes[static_cast<std::size_t>(i)];
    const bool cut = crops && (axis.roi_start != 0 || axis.roi_end != 1);
    if (axis.from != axis.to || axis.scale != 1 || cut) touched.push_back(i);
  }

  constexpr bool direct = std::is_same_v<B, T>;
  const B* source = nullptr;
  if constexpr (direct) {
    source = x.data();
  } else {
    B* copy = node.scratch<B>(x.count());
    for (int64_t i = 0; i < x.count(); ++i) copy[i] = B(x[i]);
    source = copy;
  }
  kw::Shape now = x.shape();
  for (int i : touched) {
    const ResizeAxis& axis = axes[static_cast<std::size_t>(i)];
    const AlongAxis from = along(now, i);
    now[i] = axis.to;
    B* next = nullptr;
    if constexpr (direct) next = i == touched.back() ? y.data() : nullptr;
    if (next == nullptr) next = node.scratch<B>(now.count());
    resize_along(node, source, from, axis, next);
    source = next;
  }
  if (direct && !touched.empty()) return;
  for (int64_t i = 0; i < y.count(); ++i) y[i] = T(source[i]);
}
