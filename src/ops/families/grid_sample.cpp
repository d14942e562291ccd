// GridSample: images and volumes read at the places that a grid names.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/stencil.h"

namespace kw::ops::families {
namespace {

// Keys' cubic convolution with a = -0.75.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

enum class Mode { nearest, linear, cubic };
enum class Padding { zeros, border, reflection };

// GridSample along one axis.
struct GridAxis {
  Mode mode;
  Padding padding;
  bool align_corners;
  std::int64_t length;

  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(length) - (align_corners ? 1 : 0.5); }

  // From -1 ... 1 to elements.
  double position(double g) const {
    const auto n = static_cast<double>(length);
    return align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  }

  double reflected(double x) const {
    const double width = high() - low();
    if (width <= 0) return low();
    const double offset = std::fmod(std::fabs(x - low()), 2 * width);
    return low() + (offset > width ? 2 * width - offset : offset);
  }

  // An element's index with the padding applied, -1 for a zero.
  std::int64_t element(double i) const {
    const auto last = static_cast<double>(length - 1);
    if (i >= 0 && i <= last) return static_cast<std::int64_t>(i);
    if (padding == Padding::zeros) return -1;
    return static_cast<std::int64_t>(std::clamp(padding == Padding::border ? i : reflected(i), 0.0, last));
  }

  // Border and reflection first move the place itself inside, then the elements around it.
  Taps taps_at(double x) const {
    if (mode == Mode::nearest) x = std::nearbyint(x);
    if (x < low() || x > high()) {
      if (padding == Padding::border) x = std::clamp(x, 0.0, static_cast<double>(length - 1));
      if (padding == Padding::reflection) x = reflected(x);
    }
    Taps taps;
    const double first = std::floor(x);
    const double t = x - first;
    if (mode == Mode::nearest) {
      taps.add(element(x), 1);
    } else if (mode == Mode::linear) {
      taps.add(element(first), 1 - t);
      taps.add(element(first + 1), t);
    } else {
      const std::array<double, 4> weights = cubic_weights(t);
      for (int k = 0; k < 4; ++k) taps.add(element(first - 1 + k), weights[static_cast<std::size_t>(k)]);
    }
    return taps;
  }

  Place place_of(double g, double g_slack, DType working) const {
    const double x = position(g);
    const double rounding = 2 * unit_roundoff(working) * (std::fabs(g) + 1) * static_cast<double>(length) +
                            g_slack * static_cast<double>(length) / 2;
    return {{taps_at(x), taps_at(x - rounding), taps_at(x + rounding)}};
  }
};

std::vector<GridAxis> grid_axes(const Call& call) {
  const std::string& mode = call.text("mode");
  const std::string& padding = call.text("padding_mode");
  std::vector<GridAxis> axes;
  for (int axis = 2; axis < call.shape(0).rank(); ++axis) {
    axes.push_back({.mode = mode == "nearest"                        ? Mode::nearest
                            : mode == "linear" || mode == "bilinear" ? Mode::linear
                                                                     : Mode::cubic,
                    .padding = padding == "zeros"    ? Padding::zeros
                               : padding == "border" ? Padding::border
                                                     : Padding::reflection,
                    .align_corners = call.integer("align_corners") != 0,
                    .length = call.shape(0)[axis]});
  }
  return axes;
}

Status sample_grid(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const WideTensor& grid = *in[1];
  WideTensor& y = out[0];
  const std::vector<GridAxis> axes = grid_axes(call);
  const std::size_t rank = axes.size();
  const DType working = working_type(x.dtype);
  const std::span<const std::int64_t> lengths(x.shape.lengths().begin() + 2, x.shape.lengths().end());
  const auto channels = static_cast<std::size_t>(x.shape[1]);
  const auto plane = static_cast<std::size_t>(x.shape.count(2, x.shape.rank()));
  const auto points = static_cast<std::size_t>(y.shape.count(2, y.shape.rank()));
  // Cubic weights are polynomials whose terms are several times larger than 1.
  const double weight_accuracy = axes[0].mode == Mode::nearest ? 0 : axes[0].mode == Mode::linear ? 4 : 32;
  const double accuracy = weight_accuracy * static_cast<double>(rank) * unit_roundoff(working);
  y.add_slack();
  std::vector<Place> places(rank);
  for (std::size_t n = 0; n < static_cast<std::size_t>(x.shape[0]); ++n) {
    for (std::size_t point = 0; point < points; ++point) {
      for (std::size_t axis = 0; axis < rank; ++axis) {
        // The grid names the last axis first.
        const std::size_t at = (n * points + point) * rank + rank - 1 - axis;
        if (!std::isfinite(grid.reals[at])) return fail("the grid holds {}", grid.reals[at]);
        places[axis] = axes[axis].place_of(grid.reals[at], grid.slack_at(at), working_type(grid.dtype));
      }
      const Stencil stencil = stencil_of(places, lengths);
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t at = (n * channels + c) * points + point;
        const Reading reading = read(x, (n * channels + c) * plane, stencil, weighted_sum);
        y.reals[at] = reading.value;
        y.slack[at] = reading.slack + accuracy * reading.magnitude;
        if (weight_accuracy > 0) y.slack[at] += kInterpolated.bound(reading.value, y.dtype);
      }
    }
  }
  return {};
}

// Now and then every point is its own: the result is the image, as large as the grid.
void draw_grid(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  constexpr double kShare = 0.1;
  if (!inputs[1] || call.shape(1).rank() != 4 || input_class == InputClass::typical || !random.chance(kShare)) return;
  const Shape& shape = call.shape(1);
  const bool corners = call.integer("align_corners") != 0;
  if (corners && (shape[1] < 2 || shape[2] < 2)) return;
  for (std::int64_t i = 0; i < inputs[1]->count(); ++i) {
    const std::int64_t length = i % 2 == 0 ? shape[2] : shape[1];
    const std::int64_t place = (i % 2 == 0 ? i / 2 : i / 2 / shape[2]) % length;
    const auto at = static_cast<double>(place), all = static_cast<double>(length);
    inputs[1]->set_real(i, corners ? 2 * at / (all - 1) - 1 : (2 * at + 1) / all - 1);
  }
}

Op grid_sample_op() {
  Op op;
  op.name = "GridSample";
  op.meaning = "the values of images or volumes at the places that a grid names, from -1 to 1 along each axis";
  op.since = 16;
  op.attributes = {{.name = "align_corners", .fallback = std::int64_t{0}},
                   {.name = "mode",
                    .kind = AttributeKind::text,
                    .fallback = std::string("linear"),
                    .choices = {"linear", "nearest", "cubic", "bilinear", "bicubic"}},
                   {.name = "padding_mode",
                    .kind = AttributeKind::text,
                    .fallback = std::string("zeros"),
                    .choices = {"zeros", "border", "reflection"}}};
  op.inputs = {{.name = "X"},
               {.name = "grid", .group = "T2", .domain = {.low = -2.5, .high = 2.5, .points = {-1, 0, 1}}}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& x = call.shape(0);
    const Shape& grid = call.shape(1);
    const int rank = x.rank() - 2;
    if (rank < 1 || rank > 3)
      return fail("X must have 1 to 3 axes behind batch and channel, but has shape {}", x.text());
    if (grid.rank() != x.rank() || grid[0] != x[0] || grid[rank + 1] != rank) {
      return fail("the grid for X of shape {} must have shape [{}, ..., {}] with {} axes, but has {}", x.text(), x[0],
                  rank, x.rank(), grid.text());
    }
    Shape y{x[0], x[1]};
    for (int axis = 1; axis <= rank; ++axis) y.append(grid[axis]);
    if (y.count() > 0 && x.count() == 0) return fail("there is nothing to sample in X of shape {}", x.text());
    return Types{{call.dtype(0), std::move(y)}};
  };
  op.reference = sample_grid;
  op.flops = [](const Call& call) {
    const std::vector<GridAxis> axes = grid_axes(call);
    if (axes[0].mode == Mode::nearest) return 0.0;
    const double taps = std::pow(axes[0].mode == Mode::linear ? 2 : 4, static_cast<double>(axes.size()));
    return 2 * taps * output_count(call);
  };
  // Of X no more than is read.
  op.bytes = [](const Call& call) {
    const TensorType& y = call.outputs[0];
    return static_cast<double>(std::min(call.inputs[0]->bytes(), y.bytes()) + call.inputs[1]->bytes() + y.bytes());
  };
  op.draw = draw_grid;
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t batch = random.integer(1, 2);
    const std::int64_t channels = random.integer(1, 3);
    const auto side = [&] { return random.integer(2, 9); };
    sample.input(DType::float32, {batch, channels, side(), side()});
    sample.input(DType::float32, {batch, side(), side(), 2});
    const std::string mode = random.pick<std::string>({"bilinear", "nearest", "bicubic"});
    sample.attribute("mode", mode).attribute("align_corners", random.integer(0, 1));
    // Where bicubic meets a border, implementations differ.
    sample.attribute("padding_mode", mode == "bicubic" ? random.pick<std::string>({"zeros", "reflection"})
                                                       : random.pick<std::string>({"zeros", "border", "reflection"}));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> grid_sample() { return {grid_sample_op()}; }

}  // namespace kw::ops::families
