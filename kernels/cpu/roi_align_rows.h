// Boxes pooled to a fixed size by averages, one axis after the other: of every row of bins the weighted sum of the
// image's rows that it reads, in vectors and only as wide as the box; then of each bin the same across.
//
// serves: RoiAlign
// types: float32
// order: 10
#include "parts/vector.h"
#include "../plain/RoiAlign.h"

namespace roi {

// An element that a bin reads along one axis.
struct Tap {
  int64_t at;
  float weight;
};

// A box along one axis.
struct Side {
  float start, bin;
  int64_t points;  // of each bin
  int64_t length;  // of the image

  // What a bin reads, each tap's weight times `factor`; how many there are.
  int64_t taps_of(int64_t which, float factor, Tap* taps) const {
    int64_t count = 0;
    for (int64_t i = 0; i < points; ++i) {
      const float place = start + bin * (float(which) + (float(i) + 0.5f) / float(points));
      if (!(place >= -1 && place <= float(length))) continue;  // up to one element outside counts as the border
      const float x = std::min(std::max(place, 0.0f), float(length - 1));
      const int64_t low = static_cast<int64_t>(x);
      taps[count++] = {low, (1 - (x - float(low))) * factor};
      taps[count++] = {std::min(low + 1, length - 1), (x - float(low)) * factor};
    }
    return count;
  }
};

// The taps of all bins along one axis, one bin's behind the other's.
struct Taps {
  Tap* taps;
  int64_t* ends;  // of each bin's
  int64_t bins, count = 0;

  Taps(const kw::Node& node, int64_t bins_, int64_t most_points)
      : taps(node.scratch<Tap>(2 * bins_ * most_points)), ends(node.scratch<int64_t>(bins_)), bins(bins_) {}

  void fill(const Side& side, float factor) {
    count = 0;
    for (int64_t i = 0; i < bins; ++i) ends[i] = count += side.taps_of(i, factor, taps + count);
  }
};

// The part of rows between two columns, added up with their taps' weights. The last vector begins earlier.
inline void add_rows(const float* image, int64_t pitch, const Tap* taps, int64_t count, int64_t begin, int64_t end,
                     float* to) {
  using namespace simd;
  if (end - begin < kLanes) {
    for (int64_t i = begin; i < end; ++i) {
      float sum = 0;
      for (int64_t t = 0; t < count; ++t) sum += taps[t].weight * image[taps[t].at * pitch + i];
      to[i - begin] = sum;
    }
    return;
  }
  for (int64_t i = begin;;) {
    Floats sum{};
    for (int64_t t = 0; t < count; ++t) {
      sum = fma(load(image + taps[t].at * pitch + i), splat(taps[t].weight), sum);
    }
    store(to + i - begin, sum);
    if (i + kLanes == end) return;
    i = std::min(i + kLanes, end - kLanes);
  }
}

}  // namespace roi

inline void RoiAlign(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> rois,
                     kw::Tensor<const int64_t> images, kw::Tensor<float>& y) {
  using namespace roi;
  if (!node.is("mode", "avg")) return ::RoiAlign(node, x, rois, images, y);
  const int64_t boxes = rois.shape(0), channels = x.shape(1), height = x.shape(2), width = x.shape(3);
  const int64_t rows = node.integer("output_height"), columns = node.integer("output_width");
  const int64_t ratio = node.integer("sampling_ratio");
  const float scale = float(node.real("spatial_scale"));
  const bool half_pixel = node.has("coordinate_transformation_mode")
                              ? node.is("coordinate_transformation_mode", "half_pixel")
                              : node.integer("opset") >= 16;
  const float offset = half_pixel ? 0.5f : 0;
  y.allocate({boxes, channels, rows, columns});
  if (y.count() == 0) return;
  // Along x (0) or y (1).
  const auto side_of = [&](int64_t box, int first, int64_t bins, int64_t length) {
    const float start = rois[4 * box + first] * scale - offset, end = rois[4 * box + first + 2] * scale - offset;
    const float bin = (half_pixel ? end - start : std::max(end - start, 1.0f)) / float(bins);
    return Side{start, bin, ratio > 0 ? ratio : std::max<int64_t>(static_cast<int64_t>(std::ceil(bin)), 0), length};
  };
  int64_t most_down = 0, most_right = 0;
  for (int64_t box = 0; box < boxes; ++box) {
    most_down = std::max(most_down, side_of(box, 1, rows, height).points);
    most_right = std::max(most_right, side_of(box, 0, columns, width).points);
  }
  Taps down_taps(node, rows, most_down), right_taps(node, columns, most_right);
  float* row_sums = node.scratch<float>(width);
  for (int64_t box = 0; box < boxes; ++box) {
    const Side down = side_of(box, 1, rows, height), right = side_of(box, 0, columns, width);
    down_taps.fill(down, 1);
    right_taps.fill(right, 1 / float(std::max<int64_t>(down.points * right.points, 1)));
    int64_t begin = width, end = 0;  // the columns that are read
    for (int64_t t = 0; t < right_taps.count; ++t) {
      begin = std::min(begin, right_taps.taps[t].at);
      end = std::max(end, right_taps.taps[t].at + 1);
    }
    if (begin < end) {  // at least a vector, where the image has one
      begin = std::min(begin, std::max<int64_t>(width - simd::kLanes, 0));
      end = std::max(end, std::min<int64_t>(begin + simd::kLanes, width));
    }
    float* to = y.data() + box * channels * rows * columns;
    for (int64_t c = 0; c < channels; ++c) {
      const float* image = x.data() + (images[box] * channels + c) * height * width;
      const Tap* tap = down_taps.taps;
      for (int64_t row = 0; row < rows; ++row, to += columns) {
        const int64_t count = down_taps.taps + down_taps.ends[row] - tap;
        if (count == 0 || begin >= end) {
          std::fill_n(to, columns, 0.0f);
          continue;
        }
        add_rows(image, width, tap, count, begin, end, row_sums);
        tap += count;
        int64_t t = 0;
        for (int64_t column = 0; column < columns; ++column) {
          float sum = 0;
          for (; t < right_taps.ends[column]; ++t)
            sum += right_taps.taps[t].weight * row_sums[right_taps.taps[t].at - begin];
          to[column] = sum;
        }
      }
    }
  }
}
