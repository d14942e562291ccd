#include "ops/convolution_shape.h"

#include <algorithm>

#include "ops/bilinear.h"
#include "ops/walk.h"

namespace kw::ops {
namespace {

// One kernel tap along a row of windows: `count` windows from flat index `window` on, the tap of the first lying on
// flat input index `input`, that of the next `stride` further.
struct TapRow {
  std::size_t tap;
  std::size_t window;
  std::size_t input;
  std::int64_t count;
};

// All rows of all taps within one channel.
std::vector<TapRow> tap_rows(const Window& window) {
  Shape inputs, outputs, taps;
  for (const WindowAxis& axis : window) {
    inputs.append(axis.input);
    outputs.append(axis.output);
    taps.append(axis.kernel);
  }
  const std::vector<std::int64_t> input_strides = inputs.strides();
  const std::vector<std::int64_t> output_strides = outputs.strides();
  const std::size_t last = window.size() - 1;
  std::vector<TapRow> rows;
  std::size_t tap = 0;
  each_index(taps, [&](const std::vector<std::int64_t>& k) {
    Shape reached;  // the windows of this tap; the last axis is walked as a row
    std::vector<std::int64_t> first(window.size());
    for (std::size_t i = 0; i < window.size(); ++i) {
      const Range range = window[i].windows_on_input(k[i]);
      first[i] = range.begin;
      reached.append(i < last || range.count() == 0 ? range.count() : 1);
    }
    const std::int64_t count = window[last].windows_on_input(k[last]).count();
    each_index(reached, [&](std::vector<std::int64_t> at) {
      TapRow row{tap, 0, 0, count};
      for (std::size_t i = 0; i < window.size(); ++i) {
        at[i] += first[i];
        row.window += static_cast<std::size_t>(at[i] * output_strides[i]);
        row.input += static_cast<std::size_t>(window[i].position(at[i], k[i]) * input_strides[i]);
      }
      rows.push_back(row);
    });
    ++tap;
  });
  return rows;
}

// y[i * y_step] += scale * x[i * x_step]
void add_scaled(double scale, const double* x, std::int64_t x_step, double* y, std::int64_t y_step,
                std::int64_t count) {
  if (x_step == 1 && y_step == 1) return add_scaled_rows(&scale, 1, x, 0, y, count);
  for (std::int64_t i = 0; i < count; ++i) y[i * y_step] += scale * x[i * x_step];
}

// Whether the channels, the bias and the kernel fit together; the window is a matter of its own.
Status check_channels(const Call& call, const Shape& x, const Shape& w, bool transposed) {
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return fail("X {} and W {} must have one rank: batch or feature, channel, and the spatial axes", x.text(),
                w.text());
  }
  const std::int64_t groups = call.integer("group");
  if (groups < 1) return fail("attribute 'group' is {}, but must be at least 1", groups);
  const std::int64_t joined = transposed ? w[0] : w[1];  // input channels that W knows of
  if (x[1] % groups != 0 || joined != (transposed ? x[1] : x[1] / groups)) {
    return fail("W {} with group {} does not fit the {} channels of X", w.text(), groups, x[1]);
  }
  if (!transposed && w[0] % groups != 0) return fail("group {} does not divide the {} features of W", groups, w[0]);
  if (transposed && w[1] > 0 && groups > kMostElements / w[1]) return fail("group {} is too large", groups);
  const Shape kernel = spatial_axes(w);
  if (call.attributes.has("kernel_shape") && call.integers("kernel_shape") != kernel.lengths()) {
    return fail("attribute 'kernel_shape' is {}, but W has a kernel of {}", Shape(call.integers("kernel_shape")).text(),
                kernel.text());
  }
  return {};
}

// The attributes that only a transposed convolution has.
void sample_transposed(Random& random, const SampledWindow& window, Sample& sample) {
  const auto list = [&](const char* name) {
    const auto rank = static_cast<std::size_t>(window.kernel.rank());
    return sample.attributes.has(name) ? sample.attributes.integers(name) : std::vector<std::int64_t>(rank, 1);
  };
  const std::vector<std::int64_t> strides = list("strides"), dilations = list("dilations");
  std::vector<std::int64_t> more, lengths;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t kernel = window.kernel[static_cast<int>(i)];
    more.push_back(random.integer(0, strides[i] - 1));
    const std::int64_t span = (kernel - 1) * dilations[i] + 1;
    lengths.push_back(strides[i] * (window.input[static_cast<int>(i)] - 1) + span - random.integer(0, kernel - 1));
  }
  if (random.chance(0.3)) sample.attribute("output_padding", more);
  if (random.chance(0.2)) sample.attribute("output_shape", lengths);
}

}  // namespace

// Walked kernel tap by kernel tap, and for each tap along rows of the last axis.
void ConvolutionShape::add(const std::vector<double>& x, const std::vector<double>& w, std::vector<double>& y) const {
  const std::vector<TapRow> rows = tap_rows(window);
  const std::int64_t stride = window.back().stride;
  each([&](std::size_t x_at, std::size_t w_at, std::size_t y_at) {
    for (const TapRow& row : rows) {
      const double scale = w[w_at + row.tap];
      if (transposed) {
        add_scaled(scale, &x[x_at + row.window], 1, &y[y_at + row.input], stride, row.count);
      } else {
        add_scaled(scale, &x[x_at + row.input], stride, &y[y_at + row.window], 1, row.count);
      }
    }
  });
}

Result<ConvolutionShape> convolution_shape(const Call& call, const Shape& x, const Shape& w, const Shape* bias,
                                           bool transposed) {
  KW_CHECK(check_channels(call, x, w, transposed));
  const std::int64_t groups = call.integer("group");
  const std::int64_t features = transposed ? w[1] * groups : w[0];
  if (bias && *bias != Shape{features}) {
    return fail("B has shape {}, not one element for each of the {} features", bias->text(), features);
  }
  ConvolutionShape shape{.batch = x[0],
                         .groups = groups,
                         .in = x[1] / groups,
                         .out = features / groups,
                         .x_size = x.count(2, x.rank()),
                         .w_size = w.count(2, w.rank()),
                         .y_size = 1,
                         .transposed = transposed,
                         .window = {},
                         .result = {x[0], features}};
  const Shape input = spatial_axes(x), kernel = spatial_axes(w);
  KW_TRY(shape.window,
         transposed ? transposed_window(call, input, kernel) : sliding_window(call, input, kernel, false));
  for (const WindowAxis& axis : shape.window) shape.result.append(transposed ? axis.input : axis.output);
  KW_CHECK(check_shape(shape.result));
  shape.y_size = shape.result.count(2, shape.result.rank());
  return shape;
}

SampledConvolution sample_convolution(Random& random, bool transposed, Sample& sample) {
  const auto rank = static_cast<int>(random.integer(1, 3));
  const SampledWindow window = sample_window(random, rank, sample);
  const std::int64_t groups = random.chance(0.3) ? random.integer(2, 3) : 1;
  const std::int64_t in = groups * random.integer(1, rank == 3 ? 2 : 5);
  const std::int64_t out = groups * random.integer(1, rank == 3 ? 2 : 5);
  Shape x{random.integer(1, 2), in};
  Shape w = transposed ? Shape{in, out / groups} : Shape{out, in / groups};
  for (std::int64_t length : window.input) x.append(length);
  for (std::int64_t length : window.kernel) w.append(length);
  if (groups > 1 || random.chance(0.2)) sample.attribute("group", groups);
  if (random.chance(0.5)) sample.attribute("kernel_shape", window.kernel.lengths());
  if (transposed) sample_transposed(random, window, sample);
  return {std::move(x), std::move(w), out};
}

}  // namespace kw::ops
