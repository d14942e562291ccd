#pragma once

#include "common.cuh"

// RoiAlign: every box of an image read at evenly spread points and pooled to a fixed size.
struct RoiAlign_node {
  int64_t channels, height, width, rows, columns, ratio, averages, half_pixel;
  double scale;
};

#ifdef __CUDACC__
// The points of one bin along one axis.
struct RoiBin {
  double start, size;
  int64_t points;
};
__device__ inline RoiBin roi_bin(const RoiAlign_node& of, double start, double end, int64_t bins, int64_t bin) {
  const double offset = of.half_pixel != 0 ? 0.5 : 0;
  start = start * of.scale - offset;
  end = end * of.scale - offset;
  const double size = (of.half_pixel != 0 ? end - start : fmax(end - start, 1.0)) / double(bins);
  const double most = fmax(ceil(size), 0.0);
  return {start + size * double(bin), size, of.ratio > 0 ? of.ratio : int64_t(most)};
}

// Two elements with their weights; up to one element outside counts as the border.
struct RoiTap {
  bool inside;
  int64_t low, high;
  double part;
};
__device__ inline RoiTap roi_tap(const RoiBin& bin, int64_t point, int64_t length) {
  const double place = bin.start + bin.size * ((double(point) + 0.5) / double(bin.points));
  if (!(place >= -1 && place <= double(length))) return {false, 0, 0, 0};
  const double x = fmin(fmax(place, 0.0), double(length - 1));
  const int64_t low = int64_t(x);
  return {true, low, low + 1 < length ? low + 1 : length - 1, x - double(low)};
}

template <class T, class I>
__device__ T RoiAlign(const RoiAlign_node& of, int64_t i, const T* x, const T* rois, const I* images) {
  const int64_t column = i % of.columns, row = i / of.columns % of.rows;
  const int64_t channel = i / of.columns / of.rows % of.channels, box = i / of.columns / of.rows / of.channels;
  const T* from = x + (int64_t(images[box]) * of.channels + channel) * of.height * of.width;
  const T* roi = rois + 4 * box;
  const RoiBin right = roi_bin(of, double(roi[0]), double(roi[2]), of.columns, column);
  const RoiBin down = roi_bin(of, double(roi[1]), double(roi[3]), of.rows, row);
  const int64_t points = down.points * right.points;
  double sum = 0, largest = points == 0 ? 0 : -infinity();
  for (int64_t a = 0; a < down.points; ++a) {
    const RoiTap v = roi_tap(down, a, of.height);
    for (int64_t b = 0; b < right.points; ++b) {
      const RoiTap h = roi_tap(right, b, of.width);
      if (!v.inside || !h.inside) {
        largest = fmax(largest, 0.0);
        continue;
      }
      const double products[] = {(1 - v.part) * (1 - h.part) * double(from[v.low * of.width + h.low]),
                                 (1 - v.part) * h.part * double(from[v.low * of.width + h.high]),
                                 v.part * (1 - h.part) * double(from[v.high * of.width + h.low]),
                                 v.part * h.part * double(from[v.high * of.width + h.high])};
      for (double product : products) {
        sum += product;
        largest = fmax(largest, product);  // of the products, not of their sums: as ONNX has it
      }
    }
  }
  return T(of.averages != 0 ? sum / double(points > 0 ? points : 1) : largest);
}
#else
inline RoiAlign_node RoiAlign_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& rois,
                                   const Given&) {
  const bool half_pixel = node.has("coordinate_transformation_mode")
                              ? node.is("coordinate_transformation_mode", "half_pixel")
                              : node.integer("opset") >= 16;
  const int64_t rows = node.integer("output_height", 1), columns = node.integer("output_width", 1);
  *y = {rois.shape[0], x.shape[1], rows, columns};
  return {x.shape[1], x.shape[2], x.shape[3], rows, columns, node.integer("sampling_ratio"),
          strcmp(node.text("mode", "avg"), "avg") == 0 ? 1 : 0, half_pixel ? 1 : 0, node.real("spatial_scale", 1)};
}
#endif
