// RoiAlign: boxes of images pooled to one size, read between the elements.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/stencil.h"

namespace kw::ops::families {
namespace {

// One axis of one box: where its bins begin, and how many points each bin is read at.
struct BoxAxis {
  double start, bin;
  double rounding;  // of any place in it
  std::int64_t points;
  std::int64_t other_points;  // what rounding may make of `points`
  std::int64_t length;

  // Places up to one element outside count as the border, others as nothing.
  Taps taps_at(double x) const {
    Taps taps;
    const auto last = static_cast<double>(length - 1);
    if (x < -1 || x > static_cast<double>(length)) return taps;
    x = std::clamp(x, 0.0, last);
    const double first = std::min(std::floor(x), last);
    taps.add(static_cast<std::int64_t>(first), 1 - (x - first));
    taps.add(static_cast<std::int64_t>(std::min(first + 1, last)), x - first);
    return taps;
  }
  Place place_of(std::int64_t which_bin, std::int64_t point, std::int64_t of) const {
    const double x =
        start + bin * (static_cast<double>(which_bin) + (static_cast<double>(point) + 0.5) / static_cast<double>(of));
    return {{taps_at(x), taps_at(x - rounding), taps_at(x + rounding)}};
  }
};

constexpr std::int64_t kMostPoints = 256;  // along one axis of a bin

// Along one axis of box r; `first` is the box's coordinate 0 (x) or 1 (y).
Result<BoxAxis> box_axis(const Call& call, const WideTensor& rois, std::int64_t r, int first) {
  const auto from = static_cast<std::size_t>(4 * r + first);
  const double scale = call.real("spatial_scale");
  const std::string mode = call.attributes.has("coordinate_transformation_mode")
                               ? call.text("coordinate_transformation_mode")
                               : (call.opset < 16 ? "output_half_pixel" : "half_pixel");
  const double offset = mode == "half_pixel" ? 0.5 : 0;
  const double start = rois.reals[from] * scale - offset;
  const double end = rois.reals[from + 2] * scale - offset;
  if (!std::isfinite(start) || !std::isfinite(end)) return fail("box {} is not finite", r);
  const double size = offset == 0 ? std::max(end - start, 1.0) : end - start;
  const auto bins = static_cast<double>(call.integer(first == 0 ? "output_width" : "output_height"));
  const double slack = std::fabs(scale) * std::max(rois.slack_at(from), rois.slack_at(from + 2));
  BoxAxis axis{.start = start, .bin = size / bins, .length = call.shape(0)[first == 0 ? 3 : 2]};
  axis.rounding = 8 * unit_roundoff(working_type(rois.dtype)) * (std::fabs(start) + std::fabs(end) + 1) + slack;
  axis.points = axis.other_points = call.integer("sampling_ratio");
  if (axis.points > 0) return axis;
  if (!(std::fabs(axis.bin) <= static_cast<double>(kMostPoints))) {
    return fail("box {} asks for {} points in each bin; give a sampling_ratio", r, axis.bin);
  }
  const double spread = axis.rounding / bins;
  axis.points = static_cast<std::int64_t>(std::ceil(axis.bin));
  axis.other_points = static_cast<std::int64_t>(std::ceil(axis.bin - spread));
  if (axis.other_points == axis.points) axis.other_points = static_cast<std::int64_t>(std::ceil(axis.bin + spread));
  return axis;
}

// What one bin reads: a stencil for each of its points.
std::vector<Stencil> stencils_of(const BoxAxis& down, const BoxAxis& right, std::int64_t row, std::int64_t column,
                                 std::int64_t rows, std::int64_t columns) {
  const std::array<std::int64_t, 2> lengths{down.length, right.length};
  std::vector<Stencil> stencils;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::array<Place, 2> places{down.place_of(row, i, rows), right.place_of(column, k, columns)};
      stencils.push_back(stencil_of(places, lengths));
    }
  }
  return stencils;
}

struct PooledRegion {
  double value = 0;
  double slack = 0;
};

PooledRegion average(const WideTensor& x, std::size_t base, std::span<const Stencil> stencils) {
  PooledRegion sum;
  double magnitude = 0;
  for (const Stencil& stencil : stencils) {
    const Reading reading = read(x, base, stencil, weighted_sum);
    sum.value += reading.value;
    sum.slack += reading.slack;
    magnitude += reading.magnitude;
  }
  const auto points = std::max<std::int64_t>(std::ssize(stencils), 1);
  const DType working = working_type(x.dtype);
  sum.slack += sum_bound(4 * points, magnitude, working) + 8 * unit_roundoff(working) * magnitude;
  return {sum.value / static_cast<double>(points), sum.slack / static_cast<double>(points)};
}

// The maximum is taken of the products themselves and not of their sums: what ONNX's own reference does.
double largest_product(const std::vector<Tap>& taps, const double* x) {
  double best = taps.empty() ? 0 : -INFINITY;
  for (const Tap& tap : taps) best = std::max(best, tap.weight * x[tap.at]);
  return best;
}

PooledRegion maximum(const WideTensor& x, std::size_t base, std::span<const Stencil> stencils) {
  PooledRegion best{.value = stencils.empty() ? 0 : -INFINITY};
  for (const Stencil& stencil : stencils) {
    const Reading reading = read(x, base, stencil, largest_product);
    best.value = std::max(best.value, reading.value);
    best.slack = std::max(best.slack, reading.slack + 8 * unit_roundoff(working_type(x.dtype)) * reading.magnitude);
  }
  return best;
}

struct Region {
  BoxAxis down;
  BoxAxis right;
  std::int64_t image;
};

Result<Region> box_of(const Call& call, WideInputs in, std::int64_t r) {
  KW_TRY(const BoxAxis right, box_axis(call, *in[1], r, 0));
  KW_TRY(const BoxAxis down, box_axis(call, *in[1], r, 1));
  const std::int64_t image = in[2]->integers[static_cast<std::size_t>(r)];
  if (image < 0 || image >= call.shape(0)[0]) {
    return fail("batch_indices holds {}, but there are {} images", image, call.shape(0)[0]);
  }
  return Region{down, right, image};
}

Status align_boxes(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const Shape& shape = y.shape;
  const bool averages = call.text("mode") == "avg";
  y.add_slack();
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    KW_TRY(const Region box, box_of(call, in, r));
    for (std::int64_t bin = 0; bin < shape[2] * shape[3]; ++bin) {
      const auto read_with = [&](std::int64_t rows, std::int64_t columns) {
        return stencils_of(box.down, box.right, bin / shape[3], bin % shape[3], rows, columns);
      };
      // Rounding may change the number of points: then both numbers are right.
      std::vector<std::vector<Stencil>> ways{read_with(box.down.points, box.right.points)};
      if (box.down.other_points != box.down.points || box.right.other_points != box.right.points) {
        ways.push_back(read_with(box.down.other_points, box.right.points));
        ways.push_back(read_with(box.down.points, box.right.other_points));
        ways.push_back(read_with(box.down.other_points, box.right.other_points));
      }
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const auto base = static_cast<std::size_t>((box.image * shape[1] + c) * x.shape[2] * x.shape[3]);
        const auto at = static_cast<std::size_t>((r * shape[1] + c) * shape[2] * shape[3] + bin);
        for (std::size_t way = 0; way < ways.size(); ++way) {
          const PooledRegion pooled = averages ? average(x, base, ways[way]) : maximum(x, base, ways[way]);
          if (way == 0) y.reals[at] = pooled.value;
          y.slack[at] = std::max(y.slack[at], std::fabs(pooled.value - y.reals[at]) + pooled.slack);
        }
        y.slack[at] += kInterpolated.bound(y.reals[at], y.dtype);
      }
    }
  }
  return {};
}

// Boxes of at least an element, mostly inside the image; in hard input classes across its border.
void draw_boxes(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  const Shape& x = call.shape(0);
  if (Tensor* rois = inputs[1]) {
    const double scale = call.real("spatial_scale");
    const bool outside = input_class == InputClass::tails || input_class == InputClass::edges;
    for (std::int64_t i = 0; i < rois->count(); i += 4) {
      for (int axis = 0; axis < 2; ++axis) {
        const auto length = static_cast<double>(x[3 - axis]) / scale;
        const double low = outside ? random.uniform(-0.5, 0.9) * length : random.uniform(0, 0.6) * length;
        const double size = (outside ? random.uniform(0.05, 1) : random.uniform(0.1, 0.4)) * length;
        const bool whole = input_class == InputClass::ties;  // corners on elements
        rois->set_real(i + axis, whole ? std::floor(low) : low);
        rois->set_real(i + axis + 2, whole ? std::floor(low + size) + 1 : low + size);
      }
    }
  }
  if (Tensor* images = inputs[2]) {
    for (std::int64_t r = 0; r < images->count(); ++r) {
      images->set_integer(r, random.integer(0, std::max<std::int64_t>(x[0] - 1, 0)));
    }
  }
}

Op roi_align_op() {
  Op op;
  op.name = "RoiAlign";
  op.meaning = "every box of an image read at evenly spread points and pooled to a fixed size";
  op.since = 16;
  op.attributes = {
      {.name = "coordinate_transformation_mode",  // the default depends on the opset
       .kind = AttributeKind::text,
       .choices = {"half_pixel", "output_half_pixel"}},
      {.name = "mode", .kind = AttributeKind::text, .fallback = std::string("avg"), .choices = {"avg", "max"}},
      {.name = "output_height", .fallback = std::int64_t{1}},
      {.name = "output_width", .fallback = std::int64_t{1}},
      {.name = "sampling_ratio", .fallback = std::int64_t{0}},
      {.name = "spatial_scale", .kind = AttributeKind::real, .fallback = 1.0}};
  op.inputs = {{.name = "X"}, {.name = "rois"}, {.name = "batch_indices", .types = kInt64, .group = ""}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& x = call.shape(0);
    if (x.rank() != 4) return fail("X must have shape [N, C, H, W], but has {}", x.text());
    const Shape& rois = call.shape(1);
    if (rois.rank() != 2 || rois[1] != 4) return fail("rois must have shape [boxes, 4], but has {}", rois.text());
    if (rois[0] > 0 && (x[0] == 0 || x[2] == 0 || x[3] == 0))
      return fail("there are boxes, but X is empty: {}", x.text());
    if (call.shape(2) != Shape{rois[0]}) {
      return fail("batch_indices must have shape [{}], but has {}", rois[0], call.shape(2).text());
    }
    const std::int64_t height = call.integer("output_height");
    const std::int64_t width = call.integer("output_width");
    const std::int64_t ratio = call.integer("sampling_ratio");
    if (height < 1 || width < 1) return fail("output_height and output_width must be at least 1");
    if (ratio < 0 || ratio > kMostPoints) return fail("sampling_ratio must be between 0 and {}", kMostPoints);
    if (x[2] == 0 || x[3] == 0) return fail("there is nothing to pool in X of shape {}", x.text());
    if (!(call.real("spatial_scale") > 0)) return fail("spatial_scale must be above 0");
    return Types{{call.dtype(0), {rois[0], x[1], height, width}}};
  };
  op.reference = align_boxes;
  // Of adaptive bins we count one point: how many there are is in the boxes.
  op.flops = [](const Call& call) {
    const auto points = static_cast<double>(std::max<std::int64_t>(call.integer("sampling_ratio"), 1));
    return 8 * points * points * output_count(call);
  };
  op.bytes = [](const Call& call) {
    const TensorType& y = call.outputs[0];
    return static_cast<double>(std::min(call.inputs[0]->bytes(), 4 * y.bytes()) + call.inputs[1]->bytes() +
                               call.inputs[2]->bytes() + y.bytes());
  };
  op.draw = draw_boxes;
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t boxes = random.integer(1, 4);
    sample.input(DType::float32,
                 {random.integer(1, 3), random.integer(1, 3), random.integer(5, 17), random.integer(5, 17)});
    sample.input(DType::float32, {boxes, 4}).input(DType::int64, {boxes});
    sample.attribute("output_height", random.integer(1, 5)).attribute("output_width", random.integer(1, 5));
    sample.attribute("sampling_ratio", random.integer(0, 3));
    if (random.chance(0.5)) sample.attribute("spatial_scale", random.pick({0.5, 0.25, 1.3}));
    if (random.chance(0.3)) sample.attribute("mode", std::string("max"));
    if (random.chance(0.5)) sample.attribute("coordinate_transformation_mode", std::string("output_half_pixel"));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> roi_align() { return {roi_align_op()}; }

}  // namespace kw::ops::families
