// Convolutions and transposed convolutions over any number of spatial axes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/accuracy.h"
#include "ops/bilinear.h"
#include "ops/convolution_shape.h"
#include "ops/families.h"
#include "ops/window.h"

namespace kw::ops::families {
namespace {

// Convolutions may be computed by fast algorithms (Winograd, Strassen, FFT) that mix an input channel's elements before
// they multiply, and sums before they part them. Such an error does not follow the terms of one sum, but the largest
// that take part in the mix: for each channel u times a constant times (the sum of the kernel's magnitudes) * (the
// channel's largest magnitude). Channels add up like their root, as roundings are as good as random. The constant is
// that of F(4x4,3x3), the coarsest Winograd in use, whose transforms multiply by up to 10 and 19 along either axis:
// inputs of all input classes bring it to 56; F(2x2,3x3) stays below 3.
constexpr double kMixing = 128;
// With strides the kernel falls into smaller ones first. With dilations only the image falls apart: the kernel stays
// whole.
constexpr double kMixingInParts = 16;

// A kernel of one element leaves nothing to mix: that is a product of matrices.
double mixing_of(const ConvolutionShape& shape) {
  if (shape.w_size == 1) return 0;
  const bool whole = std::ranges::all_of(shape.window, [](const auto& axis) { return axis.stride == 1; });
  return whole ? kMixing : kMixingInParts;
}

Result<ConvolutionShape> shape_of(const Call& call, bool transposed) {
  return convolution_shape(call, call.shape(0), call.shape(1), call.has(2) ? &call.shape(2) : nullptr, transposed);
}

// For every channel of the result, what kMixing is multiplied by.
std::vector<double> mixed_magnitudes(const ConvolutionShape& shape, const WideTensor& x, const WideTensor& w,
                                     const WideTensor& y) {
  const auto larger = [](double a, double b) { return std::max(a, std::fabs(b)); };
  const auto sum = [](double a, double b) { return a + std::fabs(b); };
  std::vector<double> largest(static_cast<std::size_t>(x.shape[0] * x.shape[1]));
  for (std::size_t c = 0; c < largest.size(); ++c) {
    const auto first = x.reals.begin() + static_cast<std::ptrdiff_t>(c) * shape.x_size;
    largest[c] = std::accumulate(first, first + shape.x_size, 0.0, larger);
  }
  std::vector<double> result(static_cast<std::size_t>(y.shape[0] * y.shape[1]));
  shape.each([&](std::size_t x_at, std::size_t w_at, std::size_t y_at) {
    const auto kernel = w.reals.begin() + static_cast<std::ptrdiff_t>(w_at);
    const double mixed = std::accumulate(kernel, kernel + shape.w_size, 0.0, sum) *
                         largest[x_at / static_cast<std::size_t>(shape.x_size)];
    result[y_at / static_cast<std::size_t>(shape.y_size)] += mixed * mixed;
  });
  for (double& squares : result) squares = std::sqrt(squares);
  return result;
}

Status convolve(const Call& call, bool transposed, WideInputs in, WideTensor& y) {
  const WideTensor& x = *in[0];
  const WideTensor& w = *in[1];
  const WideTensor* bias = call.has(2) ? in[2] : nullptr;
  if (y.reals.empty()) return {};
  KW_TRY(const ConvolutionShape shape, shape_of(call, transposed));
  const Bilinear products = bilinear(
      x, w, y.reals.size(), [&](const auto& xs, const auto& ws, auto& ys) { shape.add(xs, ws, ys); }, call.precision);
  const double mixing = mixing_of(shape);
  const std::vector<double> mixed = mixed_magnitudes(shape, x, w, y);

  const std::int64_t terms = shape.terms() + (bias ? 1 : 0);
  y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    const std::size_t channel = i / static_cast<std::size_t>(shape.y_size);
    const std::size_t feature = channel % static_cast<std::size_t>(y.shape[1]);
    const double added = bias ? bias->reals[feature] : 0;
    y.reals[i] = products.sum[i] + added;
    y.slack[i] = product_sum_bound(terms, y.reals[i], products.squares[i] + added * added, y.dtype) +
                 mixing * unit_roundoff(y.dtype) * mixed[channel] + (bias ? bias->slack_at(feature) : 0) +
                 (products.carried.empty() ? 0 : products.carried[i]);
  }
  return {};
}

// Every kernel tap meets every element of the smaller side, padding counted.
double convolution_flops(const Call& call, bool transposed) {
  const Shape& w = call.shape(1);
  const Shape& per_window = transposed ? call.shape(0) : call.outputs[0].shape;
  const double products = static_cast<double>(per_window.count()) * static_cast<double>(w.count(1, w.rank()));
  return 2 * products + (call.has(2) ? output_count(call) : 0);
}

Sample sample_real(Random& random, bool transposed) {
  Sample sample;
  const SampledConvolution shapes = sample_convolution(random, transposed, sample);
  sample.input(DType::float32, shapes.x).input(DType::float32, shapes.w);
  if (random.chance(0.5)) sample.input(DType::float32, Shape{shapes.features});
  return sample;
}

Op convolution_op(std::string name, std::string meaning, bool transposed) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 11;
  op.attributes = window_attributes();
  op.attributes.push_back({.name = "group", .fallback = std::int64_t{1}});
  if (transposed) {
    op.attributes.push_back({.name = "output_padding", .kind = AttributeKind::integers});
    op.attributes.push_back({.name = "output_shape", .kind = AttributeKind::integers});
  }
  // Far values are kept nearer than elsewhere: the bound of fast algorithms goes by the largest of a channel, and would
  // hide the others.
  const Domain domain{.far = 100};
  op.inputs = {{.name = "X", .domain = domain},
               {.name = "W", .domain = domain},
               {.name = "B", .domain = domain, .optional = true}};
  op.infer = [transposed](const Call& call) -> Result<Types> {
    KW_TRY(ConvolutionShape shape, shape_of(call, transposed));
    return Types{{call.dtype(0), std::move(shape.result)}};
  };
  op.reference = [transposed](const Call& call, WideInputs in, std::span<WideTensor> out) {
    return convolve(call, transposed, in, out[0]);
  };
  op.flops = [transposed](const Call& call) { return convolution_flops(call, transposed); };
  op.sample = [transposed](Random& random) { return sample_real(random, transposed); };
  return op;
}

}  // namespace

std::vector<Op> convolution() {
  return {
      convolution_op("Conv", "slides kernels over the input and sums the products under each window, plus a bias",
                     false),
      convolution_op("ConvTranspose",
                     "spreads every input element over a window of the result, weighted by kernels, plus a bias", true),
  };
}

}  // namespace kw::ops::families
