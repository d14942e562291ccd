// Real numbers as small integers and back, with one scale and zero point for the tensor, for each place along an axis,
// or for each block of places.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/onnx_types.h"
#include "ops/quantized.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

constexpr DTypes kScaleTypes{DType::float32, DType::float16, DType::bfloat16};
constexpr DTypes kQuantizedTypes{DType::int8, DType::uint8, DType::int16, DType::uint16};

// Which scale belongs to which element of X, with X seen as [outer, length, inner] around the axis.
struct Granularity {
  AxisView view{Shape{0}, 0};
  std::int64_t block = 1;  // places along the axis that share a scale
  std::int64_t outer_step = 0, axis_step = 0, inner_step = 0;

  // f(element, scale)
  template <class F>
  void each(F&& f) const {
    std::size_t element = 0;
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::int64_t first = o * outer_step + k / block * axis_step;
        for (std::int64_t i = 0; i < view.inner; ++i) f(element++, static_cast<std::size_t>(first + i * inner_step));
      }
    }
  }
};

Result<Granularity> blocked(const Shape& x, const Shape& scale, int axis, std::int64_t block) {
  Shape expected = x;
  expected[axis] = x[axis] / block + (x[axis] % block != 0);
  if (scale != expected) {
    return fail("blocks of {} along axis {} of {} need scales {}, not {}", block, axis, x.text(), expected.text(),
                scale.text());
  }
  const AxisView view(x, axis);
  return Granularity{view, block, expected[axis] * view.inner, view.inner, 1};
}

bool is_one_number(const Shape& shape) { return shape.rank() <= 1 && shape.count() == 1; }

// Quantisers write a scale of the shape [1] beside a zero point of the shape [].
Result<Granularity> granularity_of(const Call& call) {
  const Shape& x = call.shape(0);
  const Shape& scale = call.shape(1);
  const bool one_for_all = is_one_number(scale) && (!call.has(2) || is_one_number(call.shape(2)));
  if (call.has(2) && call.shape(2) != scale && !one_for_all) {
    return fail("the zero point {} must have the shape {} of the scale", call.shape(2).text(), scale.text());
  }
  const std::int64_t block = call.integer("block_size");
  if (block < 0) return fail("attribute 'block_size' is {}, but cannot be negative", block);
  if (block == 0 && one_for_all) return Granularity{.view = {Shape{x.count()}, 0}};
  KW_TRY(const int axis, normal_axis(call.integer("axis"), x.rank()));
  if (block > 0) return blocked(x, scale, axis, block);
  if (scale != Shape{x[axis]}) {
    return fail("the scale {} must be one number, or one for each of the {} places along axis {}", scale.text(),
                x[axis], axis);
  }
  return Granularity{.view = {x, axis}, .axis_step = 1};
}

// The type that an attribute names, or `fallback` where it is 0.
Result<DType> type_named(const Call& call, const char* attribute, DTypes allowed, DType fallback) {
  const std::int64_t number = call.integer(attribute);
  if (number == 0) return fallback;
  KW_TRY(const DType dtype, dtype_of_onnx(number));
  if (!allowed.has(dtype)) return fail("attribute '{}' cannot be {}", attribute, name_of(dtype));
  return dtype;
}

// One tensor in four has a scale for each place along an axis, and one in four for each block; the shape of the scales.
Shape sample_granularity(Random& random, const Shape& x, Sample& sample) {
  if (x.rank() == 0 || random.chance(0.5)) return random.chance(0.7) ? Shape{} : Shape{1};
  const auto axis = static_cast<int>(random.integer(0, x.rank() - 1));
  sample.attribute("axis", sample_axis(random, axis, x.rank()));
  if (random.chance(0.5)) return {x[axis]};
  const std::int64_t block = random.integer(1, x[axis] + 1);
  sample.attribute("block_size", block);
  Shape scale = x;
  scale[axis] = (x[axis] + block - 1) / block;
  return scale;
}

// ---- QuantizeLinear

Result<Types> infer_quantize(const Call& call) {
  KW_CHECK(granularity_of(call));
  KW_CHECK(type_named(call, "precision", kScaleTypes, call.dtype(1)));
  const DType own = call.has(2) ? call.dtype(2) : DType::uint8;
  KW_TRY(const DType result, type_named(call, "output_dtype", kQuantizedTypes, own));
  if (call.has(2) && result != own) {
    return fail("attribute 'output_dtype' asks for {}, but the zero point is {}", name_of(result), name_of(own));
  }
  return Types{{result, call.shape(0)}};
}

Status quantize(const Call& call, WideInputs in, std::span<WideTensor> out) {
  constexpr int kRoundings = 4;  // of an integer to a float, of the reciprocal of the scale, of the product
  const WideTensor& x = *in[0];
  const WideTensor& scales = *in[1];
  const WideTensor* zeros = call.has(2) ? in[2] : nullptr;
  KW_TRY(const Granularity granularity, granularity_of(call));
  KW_TRY(const DType precision, type_named(call, "precision", kScaleTypes, scales.dtype));
  for (std::size_t s = 0; s < scales.reals.size(); ++s) {
    if (!(scales.reals[s] - scales.slack_at(s) > 0)) return fail("y_scale holds {}: not positive", scales.reals[s]);
  }
  granularity.each([&](std::size_t i, std::size_t s) {
    const double scale = scales.reals[s];
    const std::int64_t zero = zeros ? zeros->integers[s] : 0;
    const double quotient = x.number(i) / scale;
    double error = is_power_of_two(scale) ? 0 : quotient_error(quotient, zero, kRoundings, precision);
    const double dx = x.slack_at(i), ds = scales.slack_at(s);
    if (dx > 0 || ds > 0) {
      error = quotient_error(quotient, zero, kRoundings, precision) + (dx + std::fabs(quotient) * ds) / (scale - ds);
    }
    put(quantized(quotient, error, zero, zeros ? zeros->slack_at(s) : 0, out[0].dtype), out[0], i);
  });
  return {};
}

// In the input classes ties and edges scales are powers of two, and numbers lie on halves of them or next to those.
void draw_halves(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0] || !inputs[1]) return;
  Tensor& x = *inputs[0];
  Tensor& scales = *inputs[1];
  if (!is_float(x.dtype())) {  // numbers around 100 fill eight bits
    for (std::int64_t s = 0; s < scales.count(); ++s) scales.set_real(s, random.uniform(0.5, 2));
  }
  if (input_class != InputClass::ties && input_class != InputClass::edges) return;
  const int coarser = is_float(x.dtype()) ? 0 : 6;
  for (std::int64_t s = 0; s < scales.count(); ++s) {
    scales.set_real(s, std::exp2(static_cast<double>(random.integer(-6, -4) + coarser)));
  }
  granularity_of(call)->each([&](std::size_t i, std::size_t s) {
    if (!random.chance(0.5)) return;
    const double half = static_cast<double>(random.integer(-130, 130)) + 0.5;
    const double step = input_class == InputClass::edges ? static_cast<double>(random.integer(-2, 2)) : 0;
    x.set_real(static_cast<std::int64_t>(i),
               half * scales.real(static_cast<std::int64_t>(s)) * (1 + step * 2 * unit_roundoff(DType::float32)));
  });
}

Op quantize_op() {
  Op op;
  op.name = "QuantizeLinear";
  op.meaning = "real numbers as small integers: round(x / scale) + zero point, halves to even, cut to the type's range";
  op.since = 21;
  // saturate is about 8-bit floats, which we do not have.
  op.attributes = {{.name = "axis", .fallback = std::int64_t{1}},
                   {.name = "block_size", .fallback = std::int64_t{0}},
                   {.name = "output_dtype", .fallback = std::int64_t{0}},
                   {.name = "precision", .fallback = std::int64_t{0}},
                   {.name = "saturate", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "x", .types = kScaleTypes | DTypes{DType::int32}, .group = ""},
               {.name = "y_scale", .types = kScaleTypes, .group = "", .domain = scale_domain()},
               {.name = "y_zero_point", .types = kQuantizedTypes, .group = "", .optional = true}};
  op.outputs = {{"y"}};
  op.infer = infer_quantize;
  op.reference = quantize;
  op.flops = [](const Call& call) { return 2 * input_count(call); };
  op.draw = draw_halves;
  op.sample = [](Random& random) {
    Sample sample;
    const Shape shape = sample_shape(random, 0, 4);
    const Shape scale = sample_granularity(random, shape, sample);
    const DType type = random.chance(0.8) ? DType::float32 : DType::float16;
    const DType result = random.pick({DType::uint8, DType::int8, DType::uint16, DType::int16});
    sample.input(type, shape).input(type, scale);
    const bool zeros = random.chance(0.7);
    if (zeros) sample.input(result, scale);
    if (random.chance(0.3)) sample.attribute("output_dtype", onnx_number(zeros ? result : DType::int8));
    return sample;
  };
  return op;
}

// ---- DequantizeLinear

Result<Types> infer_dequantize(const Call& call) {
  KW_CHECK(granularity_of(call));
  KW_TRY(const DType result, type_named(call, "output_dtype", kScaleTypes, call.dtype(1)));
  return Types{{result, call.shape(0)}};
}

Status dequantize(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const WideTensor& scales = *in[1];
  const WideTensor* zeros = call.has(2) ? in[2] : nullptr;
  WideTensor& y = out[0];
  KW_TRY(const Granularity granularity, granularity_of(call));
  y.add_slack();
  granularity.each([&](std::size_t i, std::size_t s) {
    const double scale = scales.reals[s];
    const std::int64_t zero = zeros ? zeros->integers[s] : 0;
    const auto steps = static_cast<double>(x.integers[i] - zero);
    y.reals[i] = steps * scale;
    // x * scale - zero * scale is as good as (x - zero) * scale, but for the rounding of zero * scale.
    y.slack[i] = kRounded.bound(y.reals[i], y.dtype) +
                 unit_roundoff(y.dtype) * std::fabs(static_cast<double>(zero) * scale) +
                 std::fabs(steps) * scales.slack_at(s) +
                 (x.slack_at(i) + (zeros ? zeros->slack_at(s) : 0)) * (std::fabs(scale) + scales.slack_at(s));
  });
  return {};
}

Op dequantize_op() {
  Op op;
  op.name = "DequantizeLinear";
  op.meaning = "small integers as the real numbers they stand for: (x - zero point) * scale";
  op.since = 21;
  op.attributes = {{.name = "axis", .fallback = std::int64_t{1}},
                   {.name = "block_size", .fallback = std::int64_t{0}},
                   {.name = "output_dtype", .fallback = std::int64_t{0}}};
  const DTypes types = kQuantizedTypes | DTypes{DType::int32};
  op.inputs = {{.name = "x", .types = types},
               {.name = "x_scale", .types = kScaleTypes, .group = "", .domain = scale_domain()},
               {.name = "x_zero_point", .types = types, .optional = true}};
  op.outputs = {{"y"}};
  op.infer = infer_dequantize;
  op.reference = dequantize;
  op.flops = [](const Call& call) { return 2 * input_count(call); };
  // ONNX: int32 has no zero point other than 0.
  op.draw = [](const Call&, InputClass, Random&, std::span<Tensor* const> inputs) {
    if (inputs.size() < 3 || !inputs[2] || inputs[2]->dtype() != DType::int32) return;
    for (std::int64_t s = 0; s < inputs[2]->count(); ++s) inputs[2]->set_integer(s, 0);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const Shape shape = sample_shape(random, 0, 4);
    const Shape scale = sample_granularity(random, shape, sample);
    const DType type = random.pick({DType::uint8, DType::int8, DType::uint16, DType::int16, DType::int32});
    sample.input(type, shape).input(DType::float32, scale);
    if (type != DType::int32 && random.chance(0.7)) sample.input(type, scale);
    return sample;
  };
  return op;
}

// ---- DynamicQuantizeLinear

struct Extent {
  double low = 0;  // zero is always inside
  double high = 0;
  double slack = 0;
};

Status quantize_by_extent(const Call&, WideInputs in, std::span<WideTensor> out) {
  constexpr double kLevels = 255;
  constexpr int kScaleRoundings = 3;  // of the extent, of the reciprocal of 255, of the product
  constexpr int kRoundings = 3 + kScaleRoundings;
  const WideTensor& x = *in[0];
  Extent extent;
  for (std::size_t i = 0; i < x.reals.size(); ++i) {
    extent.low = std::min(extent.low, x.reals[i]);
    extent.high = std::max(extent.high, x.reals[i]);
    extent.slack = std::max(extent.slack, x.slack_at(i));
  }
  const double scale = (extent.high - extent.low) / kLevels;
  const double moved = 2 * extent.slack / kLevels;
  if (!(scale - moved > smallest_normal(DType::float32)) || std::isinf(scale)) {
    return fail("x reaches from {} to {}: no scale fits that", extent.low, extent.high);
  }
  const bool exact = is_power_of_two(scale) && x.exact();
  out[1].reals[0] = scale;
  if (!exact) {
    out[1].add_slack();
    out[1].slack[0] = kScaleRoundings * unit_roundoff(DType::float32) * scale + moved;
  }
  const auto error = [&](double quotient, double slack) {
    if (exact) return 0.0;
    return kRoundings * unit_roundoff(DType::float32) * (std::fabs(quotient) + 1) +
           (slack + std::fabs(quotient) * moved) / (scale - moved);
  };
  const double to_zero = -extent.low / scale;
  const Quantized zero = quantized(to_zero, error(to_zero, extent.slack), 0, 0, DType::uint8);
  put(zero, out[2], 0);
  for (std::size_t i = 0; i < x.reals.size(); ++i) {
    const double quotient = x.reals[i] / scale;
    put(quantized(quotient, error(quotient, x.slack_at(i)), zero.value, zero.slack, DType::uint8), out[0], i);
  }
  return {};
}

// Of extents that no scale fits (all zeros, or nearly) the operator says nothing. Among ties the scale is a power of
// two and numbers lie on halves of it.
void draw_extent(const Call&, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0]) return;
  const auto x = inputs[0]->as<float>();
  if (input_class == InputClass::ties && x.size() >= 2) {
    const double scale = std::exp2(static_cast<double>(random.integer(-8, 2)));
    const auto least = static_cast<double>(-random.integer(0, 255));
    for (float& element : x) {
      element = static_cast<float>(scale * (least + static_cast<double>(random.integer(0, 510)) / 2));
    }
    x.front() = static_cast<float>(scale * least);
    x.back() = static_cast<float>(scale * (least + 255));
  }
  if (std::ranges::none_of(x, [](float element) { return std::fabs(element) > 1e-20f; })) {
    x.back() = static_cast<float>(random.sign());
  }
}

Op quantize_by_extent_op() {
  Op op;
  op.name = "DynamicQuantizeLinear";
  op.meaning = "real numbers as unsigned bytes, with the scale and the zero point that just hold them all and zero";
  op.since = 11;
  op.inputs = {{.name = "x", .types = {DType::float32}}};
  op.outputs = {{"y"}, {"y_scale"}, {"y_zero_point"}};
  op.infer = [](const Call& call) -> Result<Types> {
    if (call.shape(0).count() == 0) return fail("x is empty: it has no extent to take a scale from");
    return Types{{DType::uint8, call.shape(0)}, {DType::float32, Shape{}}, {DType::uint8, Shape{}}};
  };
  op.reference = quantize_by_extent;
  op.flops = [](const Call& call) { return 4 * input_count(call); };
  op.draw = draw_extent;
  op.sample = [](Random& random) {
    Sample sample;
    sample.input(DType::float32, sample_shape(random, 0, 4));
    sample.outputs = 3;
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> quantization() { return {quantize_op(), dequantize_op(), quantize_by_extent_op()}; }

}  // namespace kw::ops::families
