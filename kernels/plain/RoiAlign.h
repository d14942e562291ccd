#pragma once

#include <kernelwright.h>

#include <vector>

#include "parts/wide.h"

// What one point reads along one axis: two elements with their weights, or nothing.
template <class W>
struct RoiTap {
  bool inside;
  int64_t low, high;
  W low_weight, high_weight;
};

// The points of a box along one axis, those of its first bin first.
template <class W>
struct RoiAxis {
  int64_t points;  // of one bin
  std::vector<RoiTap<W>> taps;

  RoiAxis(W start, W bin, int64_t bins, int64_t ratio, int64_t length)
      : points(ratio > 0 ? ratio : std::max<int64_t>(static_cast<int64_t>(std::ceil(bin)), 0)) {
    for (int64_t i = 0; i < bins * points; ++i) {
      const W place = start + bin * (W(i / points) + (W(i % points) + W(0.5)) / W(points));
      // Up to one element outside counts as the border.
      const bool inside = place >= -1 && place <= W(length);
      const W x = std::min(std::max(place, W(0)), W(length - 1));
      const int64_t low = inside ? static_cast<int64_t>(x) : 0;
      taps.push_back({inside, low, std::min(low + 1, length - 1), 1 - (x - W(low)), x - W(low)});
    }
  }
};

// RoiAlign: every box of an image read at evenly spread points and pooled to a fixed size.
template <class T>
void RoiAlign(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> rois, kw::Tensor<const int64_t> images,
              kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t channels = x.shape(1), height = x.shape(2), width = x.shape(3);
  const int64_t rows = node.integer("output_height"), columns = node.integer("output_width");
  const int64_t ratio = node.integer("sampling_ratio");
  const bool averages = node.is("mode", "avg");
  const W scale = W(node.real("spatial_scale"));
  const bool half_pixel = node.has("coordinate_transformation_mode")
                              ? node.is("coordinate_transformation_mode", "half_pixel")
                              : node.integer("opset") >= 16;
  const W offset = half_pixel ? W(0.5) : W(0);
  y.allocate({rois.shape(0), channels, rows, columns});
  T* to = y.data();
  for (int64_t r = 0; r < rois.shape(0); ++r) {
    // Along x (0) or y (1).
    const auto axis_of = [&](int first, int64_t bins, int64_t length) {
      const W start = W(rois[4 * r + first]) * scale - offset, end = W(rois[4 * r + first + 2]) * scale - offset;
      const W size = half_pixel ? end - start : std::max(end - start, W(1));
      return RoiAxis<W>(start, size / W(bins), bins, ratio, length);
    };
    const RoiAxis<W> right = axis_of(0, columns, width), down = axis_of(1, rows, height);
    const int64_t points = down.points * right.points;
    for (int64_t c = 0; c < channels; ++c) {
      const T* from = x.data() + (images[r] * channels + c) * height * width;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
          W sum = 0;
          W largest = points == 0 ? 0 : -INFINITY;
          for (int64_t i = 0; i < down.points; ++i) {
            const RoiTap<W>& v = down.taps[static_cast<std::size_t>(row * down.points + i)];
            for (int64_t k = 0; k < right.points; ++k) {
              const RoiTap<W>& h = right.taps[static_cast<std::size_t>(column * right.points + k)];
              if (!v.inside || !h.inside) {
                largest = std::max(largest, W(0));
                continue;
              }
              const W products[] = {v.low_weight * h.low_weight * W(from[v.low * width + h.low]),
                                    v.low_weight * h.high_weight * W(from[v.low * width + h.high]),
                                    v.high_weight * h.low_weight * W(from[v.high * width + h.low]),
                                    v.high_weight * h.high_weight * W(from[v.high * width + h.high])};
              sum += products[0] + products[1] + products[2] + products[3];
              // The largest of the products, not of their sums: as ONNX has it.
              if (!averages)
                for (W product : products) largest = std::max(largest, product);
            }
          }
          *to++ = T(averages ? sum / W(std::max<int64_t>(points, 1)) : largest);
        }
      }
    }
  }
}
