// Resize: every axis stretched or shrunk by nearest, linear or cubic interpolation.
//
// Interpolation is separable: we go through the axes one by one. Along an axis each element of the result reads a few
// taps of the source. Where the place that it reads at was rounded, the slack covers what the other places would give.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

enum ResizeInput : std::size_t { kImage, kRoi, kScales, kSizes };

struct Tap {
  std::int64_t index;
  double weight;
  bool operator==(const Tap&) const = default;
};

struct Taps {
  std::vector<Tap> list;
  double constant = 0;  // what is added to the taps: an extrapolated element has no tap
  bool operator==(const Taps&) const = default;
};

// One axis of a call.
struct Axis {
  std::int64_t from = 1;
  std::int64_t to = 1;
  double scale = 1;
  double roi_start = 0;
  double roi_end = 1;
};

// What does not depend on the axis.
struct Style {
  std::string mode, place, nearest;
  double cubic_a, extrapolation;
  bool exclude_outside, antialias;

  explicit Style(const Call& call)
      : mode(call.text("mode")),
        place(call.text("coordinate_transformation_mode")),
        nearest(call.text("nearest_mode")),
        cubic_a(call.real("cubic_coeff_a")),
        extrapolation(call.real("extrapolation_value")),
        exclude_outside(call.integer("exclude_outside") != 0),
        antialias(call.integer("antialias") != 0) {}

  bool crops() const { return place == "tf_crop_and_resize"; }
};

bool untouched(const Axis& axis, const Style& style) {
  return axis.from == axis.to && axis.scale == 1 && !(style.crops() && (axis.roi_start != 0 || axis.roi_end != 1));
}

// Where element k of the result lies in the source.
double place_of(const Axis& axis, const Style& style, std::int64_t k) {
  const auto x = static_cast<double>(k);
  const auto last = static_cast<double>(axis.from - 1);
  const auto steps = static_cast<double>(axis.to - 1);
  if (style.place == "asymmetric") return x / axis.scale;
  if (style.place == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (style.place == "align_corners") return steps == 0 ? 0 : x * last / steps;
  if (style.place == "pytorch_half_pixel" && axis.to == 1) return 0;
  if (style.crops()) {
    if (steps == 0) return 0.5 * (axis.roi_start + axis.roi_end) * last;
    return axis.roi_start * last + x * (axis.roi_end - axis.roi_start) * last / steps;
  }
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (style.place != "half_pixel_symmetric") return half_pixel;
  const auto length = static_cast<double>(axis.from);
  return length / 2 * (1 - static_cast<double>(axis.to) / (axis.scale * length)) + half_pixel;
}

// How far float32 may be off that place. The nearest element of a whole multiple needs no rounding: there the formula
// is exact as it is written, and half of all kernels' places are ties.
double rounding_of(const Axis& axis, const Style& style, double place, DType working) {
  const double u = unit_roundoff(working);
  if (style.crops()) {
    return 4 * u * (std::fabs(axis.roi_start) + std::fabs(axis.roi_end) + 1) * static_cast<double>(axis.from);
  }
  if (style.mode == "nearest") {
    int exponent = 0;
    const bool whole = axis.scale == std::floor(axis.scale);
    const bool power_of_two = std::frexp(axis.scale, &exponent) == 0.5;
    const bool corners = style.place == "align_corners";
    if (!corners && (whole || power_of_two) &&
        static_cast<double>(axis.from) * axis.scale == static_cast<double>(axis.to)) {
      return 0;
    }
    if (corners && (place == 0 || (axis.to > 1 && (axis.from - 1) % (axis.to - 1) == 0))) return 0;
  }
  if (style.place == "asymmetric" || style.place == "align_corners") return 4 * u * std::fabs(place);
  return 4 * u * (std::fabs(place) + 1);
}

double cubic(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

std::int64_t nearest_of(double place, const std::string& nearest) {
  const double index = nearest == "floor"                ? std::floor(place)
                       : nearest == "ceil"               ? std::ceil(place)
                       : nearest == "round_prefer_floor" ? std::ceil(place - 0.5)
                                                         : std::floor(place + 0.5);
  return static_cast<std::int64_t>(index);
}

Taps taps_at(double place, const Axis& axis, const Style& style) {
  const std::int64_t last = axis.from - 1;
  if (style.crops() && (place < 0 || place > static_cast<double>(last))) return {{}, style.extrapolation};
  if (style.mode == "nearest") return {{{std::clamp<std::int64_t>(nearest_of(place, style.nearest), 0, last), 1}}};
  // Against aliasing the filter is stretched when the axis shrinks.
  const double stretch = style.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = (style.mode == "linear" ? 1 : 2) / stretch;
  const auto first = static_cast<std::int64_t>(std::floor(place - reach)) + 1;
  const auto end = static_cast<std::int64_t>(std::floor(place + reach));
  Taps taps;
  double sum = 0;
  for (std::int64_t i = first; i <= end; ++i) {
    const double distance = (static_cast<double>(i) - place) * stretch;
    const double weight =
        style.mode == "linear" ? std::max(0.0, 1 - std::fabs(distance)) : cubic(distance, style.cubic_a);
    const bool outside = i < 0 || i > last;
    if (outside && style.exclude_outside) continue;
    taps.list.push_back({std::clamp<std::int64_t>(i, 0, last), weight});
    sum += weight;
  }
  if (style.antialias || style.exclude_outside) {
    for (Tap& tap : taps.list) tap.weight /= sum;
  }
  return taps;
}

// The taps of one element of the result, and of its place moved down and up by its rounding.
struct Place {
  Taps here, below, above;
  bool sure() const { return here == below && here == above; }
};

std::vector<Place> places_of(const Axis& axis, const Style& style, DType working) {
  std::vector<Place> places;
  for (std::int64_t k = 0; k < axis.to; ++k) {
    const double place = place_of(axis, style, k);
    const double rounding = rounding_of(axis, style, place, working);
    places.push_back(
        {taps_at(place, axis, style), taps_at(place - rounding, axis, style), taps_at(place + rounding, axis, style)});
  }
  return places;
}

Result<std::vector<int>> named_axes(const Call& call) {
  const int rank = call.shape(kImage).rank();
  std::vector<int> axes;
  if (!call.attributes.has("axes")) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  for (std::int64_t given : call.integers("axes")) {
    KW_TRY(const int axis, normal_axis(given, rank));
    if (std::ranges::find(axes, axis) != axes.end()) return fail("axis {} is named twice", axis);
    axes.push_back(axis);
  }
  return axes;
}

// The numbers of an optional constant input; empty where it is left out or empty, as older models leave it.
Result<std::vector<double>> numbers_of(const Call& call, std::size_t input, std::size_t wanted) {
  std::vector<double> numbers;
  if (!call.has(input) || call.shape(input).count() == 0) return numbers;
  const std::string& name = call.op->inputs[input].name;
  const Tensor* tensor = call.constants[input];
  if (!tensor) return fail("input '{}' decides the shape of the result and must be a constant", name);
  for (std::int64_t i = 0; i < tensor->count(); ++i) {
    numbers.push_back(tensor->real(i));
    if (!std::isfinite(numbers.back())) return fail("input '{}' holds {}", name, numbers.back());
  }
  if (numbers.size() != wanted)
    return fail("input '{}' must hold {} numbers, but holds {}", name, wanted, numbers.size());
  return numbers;
}

constexpr double kLongestAxis = 0x1p31;

Status set_scales(const std::vector<double>& scales, const Style& style, std::span<Axis* const> axes) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    Axis& axis = *axes[i];
    if (!(scales[i] > 0)) return fail("scales must be above 0, but one is {}", scales[i]);
    axis.scale = scales[i];
    const double part = style.crops() ? axis.roi_end - axis.roi_start : 1;
    // In float32, as everybody computes it.
    const auto length = static_cast<float>(axis.from) * static_cast<float>(part) * static_cast<float>(scales[i]);
    if (!(length >= 0 && length < kLongestAxis))
      return fail("an axis of {} times {} is not possible", axis.from, scales[i]);
    axis.to = static_cast<std::int64_t>(std::floor(length));
  }
  return {};
}

Status set_sizes(const std::vector<double>& sizes, const std::string& policy, std::span<Axis* const> axes) {
  double common = policy == "not_larger" ? INFINITY : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] >= 0 && sizes[i] < kLongestAxis)) return fail("a size of {} is not possible", sizes[i]);
    if (axes[i]->from == 0 && sizes[i] > 0) return fail("an empty axis cannot be resized to {}", sizes[i]);
    axes[i]->to = static_cast<std::int64_t>(sizes[i]);
    axes[i]->scale = axes[i]->from == 0 ? 1 : sizes[i] / static_cast<double>(axes[i]->from);
    common = policy == "not_larger" ? std::min(common, axes[i]->scale) : std::max(common, axes[i]->scale);
  }
  if (policy == "stretch") return {};
  for (Axis* axis : axes) {
    axis->scale = common;
    const double length = std::floor(common * static_cast<double>(axis->from) + 0.5);
    if (!(length < kLongestAxis)) return fail("a size of {} is not possible", length);
    axis->to = static_cast<std::int64_t>(length);
  }
  return {};
}

Result<std::vector<Axis>> plan(const Call& call) {
  if (call.opset < 11) return fail("Resize is only known from opset 11 on, but this is opset {}", call.opset);
  const Style style(call);
  std::vector<Axis> all;
  for (std::int64_t length : call.shape(kImage)) all.push_back({.from = length, .to = length});
  KW_TRY(const std::vector<int> named, named_axes(call));
  std::vector<Axis*> axes;
  for (int axis : named) axes.push_back(&all[static_cast<std::size_t>(axis)]);
  KW_TRY(const std::vector<double> scales, numbers_of(call, kScales, axes.size()));
  KW_TRY(const std::vector<double> sizes, numbers_of(call, kSizes, axes.size()));
  if (scales.empty() == sizes.empty() && !axes.empty())
    return fail("one of scales and sizes must be given, and not both");
  if (style.crops()) {
    KW_TRY(const std::vector<double> roi, numbers_of(call, kRoi, 2 * axes.size()));
    if (roi.empty()) return fail("tf_crop_and_resize needs the input 'roi'");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i]->roi_start = roi[i];
      axes[i]->roi_end = roi[i + axes.size()];
    }
  }
  if (!scales.empty()) KW_CHECK(set_scales(scales, style, axes));
  if (!sizes.empty()) KW_CHECK(set_sizes(sizes, call.text("keep_aspect_ratio_policy"), axes));
  return all;
}

Result<Types> infer_resize(const Call& call) {
  KW_TRY(const std::vector<Axis> axes, plan(call));
  if (call.text("mode") != "nearest" && !is_float(call.dtype(kImage))) {
    return fail("only mode nearest resizes {}", name_of(call.dtype(kImage)));
  }
  Shape shape;
  for (const Axis& axis : axes) {
    if (axis.to > 0 && axis.from == 0) return fail("an empty axis cannot be resized to {}", axis.to);
    shape.append(axis.to);
  }
  return Types{{call.dtype(kImage), std::move(shape)}};
}

// Sums of the taps of one element, over the source's elements `stride` apart.
struct Reading {
  double value = 0;
  double magnitude = 0;  // the sizes of the elements
  double carried = 0;    // what their slack does
};

Reading read(const WideTensor& x, const Taps& taps, std::size_t base, std::size_t stride) {
  Reading reading{.value = taps.constant};
  for (const Tap& tap : taps.list) {
    const std::size_t at = base + static_cast<std::size_t>(tap.index) * stride;
    reading.value += tap.weight * x.reals[at];
    reading.magnitude += std::fabs(x.reals[at]);
    reading.carried += std::fabs(tap.weight) * x.slack_at(at);
  }
  return reading;
}

// One axis of floats resized.
WideTensor resize_axis(const WideTensor& x, int which, const Axis& axis, const Style& style) {
  const DType working = working_type(x.dtype);
  Shape shape = x.shape;
  shape[which] = axis.to;
  WideTensor y(TensorType{x.dtype, std::move(shape)});
  const std::vector<Place> places = places_of(axis, style, working);
  const bool copies = style.mode == "nearest";
  const bool exact = copies && x.exact() && std::ranges::all_of(places, &Place::sure);
  if (!exact) y.add_slack();
  // Cubic weights are polynomials whose terms are several times larger than 1; a stretched filter's are divided by
  // their sum.
  const double shrunk = style.antialias ? std::min(axis.scale, 1.0) : 1;
  const double accuracy = copies ? 0 : (style.mode == "linear" ? 4 : 32) * shrunk * unit_roundoff(working);
  const AxisView from(x.shape, which);
  const AxisView to(y.shape, which);
  const auto stride = static_cast<std::size_t>(from.inner);
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t k = 0; k < to.length; ++k) {
      const Place& place = places[static_cast<std::size_t>(k)];
      for (std::int64_t i = 0; i < from.inner; ++i) {
        const std::size_t base = from.index(o, 0, i);
        const std::size_t at = to.index(o, k, i);
        const Reading here = read(x, place.here, base, stride);
        y.reals[at] = here.value;
        if (exact) continue;
        const Reading below = read(x, place.below, base, stride);
        const Reading above = read(x, place.above, base, stride);
        y.slack[at] = accuracy * std::max({here.magnitude, below.magnitude, above.magnitude}) +
                      std::max({here.carried, below.carried, above.carried}) +
                      std::max(std::fabs(below.value - here.value), std::fabs(above.value - here.value));
        if (!copies) y.slack[at] += Accuracy{.ulps = 1, .flushes = true}.bound(here.value, y.dtype);
      }
    }
  }
  return y;
}

// One axis of integers or bools, which are only copied.
WideTensor resize_integers(const WideTensor& x, int which, const Axis& axis, const Style& style) {
  Shape shape = x.shape;
  shape[which] = axis.to;
  WideTensor y(TensorType{x.dtype, std::move(shape)});
  const AxisView from(x.shape, which);
  const AxisView to(y.shape, which);
  for (std::int64_t k = 0; k < to.length; ++k) {
    const Taps taps = taps_at(place_of(axis, style, k), axis, style);
    for (std::int64_t o = 0; o < from.outer; ++o) {
      for (std::int64_t i = 0; i < from.inner; ++i) {
        y.integers[to.index(o, k, i)] = taps.list.empty() ? wrap(static_cast<std::int64_t>(taps.constant), y.dtype)
                                                          : x.integers[from.index(o, taps.list[0].index, i)];
      }
    }
  }
  return y;
}

Status resize_all(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const std::vector<Axis> axes = *plan(call);
  const Style style(call);
  WideTensor current = *in[kImage];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (untouched(axes[i], style)) continue;
    const auto which = static_cast<int>(i);
    current = is_float(current.dtype) ? resize_axis(current, which, axes[i], style)
                                      : resize_integers(current, which, axes[i], style);
  }
  out[0] = std::move(current);
  return {};
}

// How many elements of the source go into one of the result.
double taps_of(const Call& call) {
  const Style style(call);
  double taps = 1;
  for (const Axis& axis : *plan(call)) {
    if (untouched(axis, style) || style.mode == "nearest") continue;
    taps *= (style.mode == "linear" ? 2 : 4) / (style.antialias ? std::min(axis.scale, 1.0) : 1);
  }
  return taps;
}

// Nearest places of other ratios than whole ones fall on ties now and then; a random real ratio never does.
Sample sample_resize(Random& random) {
  Sample sample;
  const std::string mode = random.pick<std::string>({"nearest", "linear", "cubic"});
  const std::vector<std::int64_t> from{random.integer(1, 2), random.integer(1, 3), random.integer(4, 9),
                                       random.integer(4, 9)};
  sample.attribute("mode", mode);
  sample.input(mode == "nearest" && random.chance(0.2) ? DType::int32 : DType::float32, Shape(from)).absent();
  const bool by_sizes = mode != "nearest" && random.chance(0.5);
  if (by_sizes) {
    sample.absent();
    sample.constant(Tensor::of_integers({from[0], from[1], random.integer(2, 17), random.integer(2, 17)}));
  } else {
    Tensor scales(DType::float32, {4});
    const auto ratio = [&] {
      if (random.chance(0.5)) return random.pick({2.0, 3.0, 0.5});
      return random.chance(0.7) ? random.uniform(1.3, 2.7) : random.uniform(0.5, 0.7);
    };
    for (std::int64_t i = 0; i < 4; ++i) scales.set_real(i, i < 2 ? 1 : ratio());
    sample.constant(std::move(scales));
  }
  std::vector<std::string> places{"half_pixel", "pytorch_half_pixel", "asymmetric"};
  if (by_sizes) places.push_back("align_corners");
  sample.attribute("coordinate_transformation_mode", random.pick(places));
  if (mode == "nearest") {
    sample.attribute("nearest_mode",
                     random.pick<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  }
  if (mode == "cubic") {
    sample.attribute("cubic_coeff_a", random.pick({-0.75, -0.5}));
    sample.attribute("exclude_outside", random.integer(0, 1));
  }
  return sample;
}

Op resize_op() {
  Op op;
  op.name = "Resize";
  op.meaning = "the tensor stretched or shrunk along its axes, interpolated between its elements";
  op.since = 13;
  op.attributes = {{.name = "antialias", .fallback = std::int64_t{0}},
                   {.name = "axes", .kind = AttributeKind::integers},
                   {.name = "coordinate_transformation_mode",
                    .kind = AttributeKind::text,
                    .fallback = std::string("half_pixel"),
                    .choices = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}},
                   {.name = "cubic_coeff_a", .kind = AttributeKind::real, .fallback = -0.75},
                   {.name = "exclude_outside", .fallback = std::int64_t{0}},
                   {.name = "extrapolation_value", .kind = AttributeKind::real, .fallback = 0.0},
                   {.name = "keep_aspect_ratio_policy",
                    .kind = AttributeKind::text,
                    .fallback = std::string("stretch"),
                    .choices = {"stretch", "not_larger", "not_smaller"}},
                   {.name = "mode",
                    .kind = AttributeKind::text,
                    .fallback = std::string("nearest"),
                    .choices = {"nearest", "linear", "cubic"}},
                   {.name = "nearest_mode",
                    .kind = AttributeKind::text,
                    .fallback = std::string("round_prefer_floor"),
                    .choices = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}}};
  constexpr DTypes kRoiTypes{DType::float16, DType::float32, DType::float64};
  op.inputs = {{.name = "X", .types = kAnyType},
               {.name = "roi", .types = kRoiTypes, .group = "", .optional = true, .constant = true},
               {.name = "scales", .types = {DType::float32}, .group = "", .optional = true, .constant = true},
               {.name = "sizes", .types = kInt64, .group = "", .optional = true, .constant = true}};
  op.infer = infer_resize;
  op.reference = resize_all;
  op.flops = [](const Call& call) {
    if (call.text("mode") == "nearest") return 0.0;
    return 2 * taps_of(call) * output_count(call);
  };
  op.bytes = [](const Call& call) {
    const double from = bytes_of(*call.inputs[kImage]);
    const double to = bytes_of(call.outputs[0]);
    return std::min(from, taps_of(call) * to) + to;
  };
  op.sample = sample_resize;
  return op;
}

}  // namespace

std::vector<Op> resize() { return {resize_op()}; }

}  // namespace kw::ops::families
