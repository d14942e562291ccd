// Operators whose result comes from shapes and attributes, not from elements: constants, ranges, shapes as numbers.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/onnx_types.h"

namespace kw::ops::families {
namespace {

double output_bytes(const Call& call) { return bytes_of(call.outputs[0]); }

// --- Shapes as numbers ---

std::pair<std::int64_t, std::int64_t> asked_axes(const Call& call) {
  const std::int64_t rank = call.shape(0).rank();
  const auto place = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = place(call.integer("start"));
  const std::int64_t end = call.attributes.has("end") ? place(call.integer("end")) : rank;
  return {start, std::max(start, end)};
}

Op shape() {
  Op op;
  op.name = "Shape";
  op.meaning = "the lengths of the input's axes, from axis `start` to before axis `end`";
  op.since = 15;
  op.attributes = {{.name = "start", .fallback = std::int64_t{0}}, {.name = "end"}};
  op.inputs = {{.name = "data", .types = kAnyType}};
  op.outputs = {{"shape"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const auto [start, end] = asked_axes(call);
    return Types{{DType::int64, Shape{end - start}}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const auto [start, end] = asked_axes(call);
    std::copy(in[0]->shape.begin() + start, in[0]->shape.begin() + end, out[0].integers.begin());
    return {};
  };
  op.flops = no_flops;
  op.bytes = output_bytes;
  op.sample = [](Random& random) {
    Sample sample;
    sample.input(sample_type(random, kAnyType), sample_shape(random, 0, 5, true));
    if (random.chance(0.5)) sample.attribute("start", random.integer(-6, 6));
    if (random.chance(0.5)) sample.attribute("end", random.integer(-6, 6));
    return sample;
  };
  return op;
}

Op size() {
  Op op;
  op.name = "Size";
  op.meaning = "the number of the input's elements";
  op.since = 13;
  op.inputs = {{.name = "data", .types = kAnyType}};
  op.outputs = {{"size"}};
  op.infer = [](const Call&) -> Result<Types> { return Types{{DType::int64, Shape{}}}; };
  op.reference = [](const Call&, WideInputs in, std::span<WideTensor> out) -> Status {
    out[0].integers[0] = in[0]->shape.count();
    return {};
  };
  op.flops = no_flops;
  op.bytes = output_bytes;
  op.sample = [](Random& random) {
    return Sample().input(sample_type(random, kAnyType), sample_shape(random, 0, 5, true));
  };
  return op;
}

// --- Constants ---

// The tensor that a Constant's one attribute says.
Result<Tensor> constant_value(const Call& call) {
  if (std::distance(call.attributes.begin(), call.attributes.end()) != 1) {
    return fail("must have one of value, value_float, value_floats, value_int and value_ints");
  }
  const auto& [name, attribute] = *call.attributes.begin();
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) return *tensor;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute)) return Tensor::of_integers(*integers);
  if (const auto* real = std::get_if<double>(&attribute)) return Tensor::scalar(*real);
  if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    Tensor tensor(DType::float32, Shape{std::ssize(*reals)});
    std::ranges::transform(*reals, tensor.as<float>().begin(), [](double real) { return static_cast<float>(real); });
    return tensor;
  }
  Tensor tensor(DType::int64, Shape{});
  tensor.set_integer(0, call.integer(name));
  return tensor;
}

Sample sample_constant(Random& random) {
  Sample sample;
  const std::vector<std::int64_t> integers{random.integer(-99, 99), random.integer(-99, 99)};
  const std::vector<double> reals{random.normal(), random.normal(), random.normal()};
  switch (random.integer(0, 4)) {
    case 0:
      return std::move(sample.attribute("value_int", integers[0]));
    case 1:
      return std::move(sample.attribute("value_ints", integers));
    case 2:
      return std::move(sample.attribute("value_float", reals[0]));
    case 3:
      return std::move(sample.attribute("value_floats", reals));
    default: {
      Tensor value(sample_type(random, kAnyType), sample_shape(random, 0, 3));
      for (std::int64_t i = 0; i < value.count(); ++i) value.set_real(i, random.uniform(0, 100));
      return std::move(sample.attribute("value", std::move(value)));
    }
  }
}

Op constant() {
  Op op;
  op.name = "Constant";
  op.meaning = "the tensor that its attribute says";
  op.since = 13;
  op.attributes = {{.name = "value", .kind = AttributeKind::tensor},
                   {.name = "value_float", .kind = AttributeKind::real},
                   {.name = "value_floats", .kind = AttributeKind::reals},
                   {.name = "value_int", .kind = AttributeKind::integer},
                   {.name = "value_ints", .kind = AttributeKind::integers}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Tensor value, constant_value(call));
    return Types{value.type()};
  };
  op.reference = [](const Call& call, WideInputs, std::span<WideTensor> out) -> Status {
    out[0] = widen(*constant_value(call));
    return {};
  };
  op.flops = no_flops;
  op.sample = sample_constant;
  return op;
}

Op constant_of_shape() {
  Op op;
  op.name = "ConstantOfShape";
  op.meaning = "a tensor of the shape that the input's numbers say, filled with one value (by default 0)";
  op.since = 9;
  op.attributes = {{.name = "value", .kind = AttributeKind::tensor, .fallback = Tensor(DType::float32, Shape{1})}};
  op.inputs = {{.name = "input", .types = kInt64, .group = "", .constant = true}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Tensor& value = call.attributes.tensor("value");
    if (value.count() != 1) return fail("value must be one number, not {}", value.shape().text());
    KW_TRY(std::vector<std::int64_t> lengths, call.constant_integers(0));
    return Types{{value.dtype(), Shape(std::move(lengths))}};
  };
  op.reference = [](const Call& call, WideInputs, std::span<WideTensor> out) -> Status {
    const WideTensor value = widen(call.attributes.tensor("value"));
    std::ranges::fill(out[0].reals, value.reals.empty() ? 0 : value.reals[0]);
    std::ranges::fill(out[0].integers, value.integers.empty() ? 0 : value.integers[0]);
    return {};
  };
  op.flops = no_flops;
  op.bytes = output_bytes;
  op.sample = [](Random& random) {
    Sample sample;
    sample.constant(Tensor::of_integers(sample_shape(random, 0, 4, true).lengths()));
    if (random.chance(0.3)) return sample;
    Tensor value(sample_type(random, kAnyType), Shape{1});
    value.set_real(0, random.uniform(-50, 50));
    return std::move(sample.attribute("value", std::move(value)));
  };
  return op;
}

Op eye_like() {
  Op op;
  op.name = "EyeLike";
  op.meaning = "a matrix of the input's shape with ones on its k-th diagonal, zero elsewhere";
  op.since = 9;
  op.attributes = {{.name = "dtype"}, {.name = "k", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "input", .types = kAnyType}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    if (call.shape(0).rank() != 2) return fail("the input must be a matrix, not {}", call.shape(0).text());
    DType dtype = call.dtype(0);
    if (call.attributes.has("dtype")) {
      KW_TRY(dtype, dtype_of_onnx(call.integer("dtype")));
    }
    return Types{{dtype, call.shape(0)}};
  };
  op.reference = [](const Call& call, WideInputs, std::span<WideTensor> out) -> Status {
    const Shape& shape = out[0].shape;
    const std::int64_t k = std::clamp(call.integer("k"), -kMostElements, kMostElements);
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      if (row + k < 0 || row + k >= shape[1]) continue;
      const auto at = static_cast<std::size_t>(row * shape[1] + row + k);
      if (is_float(out[0].dtype)) {
        out[0].reals[at] = 1;
      } else {
        out[0].integers[at] = 1;
      }
    }
    return {};
  };
  op.flops = no_flops;
  op.bytes = output_bytes;
  op.sample = [](Random& random) {
    Sample sample;
    sample.input(DType::float32, sample_shape(random, 2, 2)).attribute("k", random.integer(-5, 5));
    if (random.chance(0.5)) sample.attribute("dtype", onnx_number(random.pick({DType::int64, DType::float64})));
    return sample;
  };
  return op;
}

// --- Range ---

constexpr DTypes kRangeTypes = kFloats | DTypes{DType::int16, DType::int32, DType::int64};

// How many numbers a range has: max(ceil((limit - start) / delta), 0).
Result<std::int64_t> range_count(const WideTensor& start, const WideTensor& limit, const WideTensor& delta) {
  if (delta.number(0) == 0) return fail("delta is 0");
  std::uint64_t count = 0;
  if (is_float(start.dtype)) {
    const double steps = std::ceil((limit.reals[0] - start.reals[0]) / delta.reals[0]);
    if (!(steps <= static_cast<double>(kMostElements))) return fail("the range has no end");
    count = static_cast<std::uint64_t>(std::max(steps, 0.0));
  } else {
    const bool up = delta.integers[0] > 0;
    const std::int64_t from = up ? start.integers[0] : limit.integers[0];
    const std::int64_t to = up ? limit.integers[0] : start.integers[0];
    // Unsigned, as the distance between two int64 may not fit another.
    const std::uint64_t step = up ? static_cast<std::uint64_t>(delta.integers[0])
                                  : std::uint64_t{0} - static_cast<std::uint64_t>(delta.integers[0]);
    if (to > from) count = (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) - 1) / step + 1;
    if (count > static_cast<std::uint64_t>(kMostElements)) return fail("the range has {} numbers", count);
  }
  return static_cast<std::int64_t>(count);
}

Result<Types> infer_range(const Call& call) {
  KW_CHECK(call.check_one_number({0, 1, 2}));
  if (call.constants[0] && call.constants[1] && call.constants[2]) {
    KW_TRY(const std::int64_t count,
           range_count(widen(*call.constants[0]), widen(*call.constants[1]), widen(*call.constants[2])));
    return Types{{call.dtype(0), Shape{count}}};
  }
  if (call.declared.empty() || !call.declared[0]) {
    return fail("start, limit and delta decide how many numbers there are: make them constants or declare the result");
  }
  if (call.declared[0]->rank() != 1) return fail("the result has one axis, not {}", call.declared[0]->text());
  return Types{{call.dtype(0), *call.declared[0]}};
}

Status compute_range(const Call&, WideInputs in, std::span<WideTensor> out) {
  KW_TRY(const std::int64_t count, range_count(*in[0], *in[1], *in[2]));
  WideTensor& y = out[0];
  if (count != y.count()) return fail("start, limit and delta give {} numbers, not {}", count, y.count());
  if (!is_float(y.dtype)) {
    std::int64_t value = in[0]->integers[0];
    for (std::int64_t& element : y.integers) {
      element = wrap(value, y.dtype);
      value = plus(value, in[2]->integers[0]);
    }
    return {};
  }
  const double start = in[0]->reals[0];
  const double delta = in[2]->reals[0];
  const double u = unit_roundoff(y.dtype);
  y.add_slack();
  // An honest kernel multiplies and adds, or adds delta again and again: then every partial sum is rounded, and since
  // the addend stays the same, those roundings lean to one side and add up.
  double partial_sums = 0;
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    const double step = static_cast<double>(i) * delta;
    y.reals[i] = start + step;
    partial_sums += i == 0 ? 0 : std::fabs(y.reals[i]);
    y.slack[i] = in[0]->slack_at(0) + static_cast<double>(i) * in[2]->slack_at(0);
    if (i > 0) y.slack[i] += u * (std::fabs(step) + partial_sums) + smallest_subnormal(y.dtype);
  }
  return {};
}

// Draws start and delta, and the limit to give as many numbers as the task declares.
void draw_range(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  const DType dtype = call.dtype(0);
  const auto count = static_cast<double>(call.outputs[0].shape[0]);
  const double width = input_class == InputClass::tails ? 100 : 3;
  if (Tensor* start = inputs[0]) start->set_real(0, std::trunc(random.normal() * width * 64) / 64);
  if (Tensor* delta = inputs[2]) {
    const double magnitude = is_float(dtype) ? random.uniform(0.1, 2) : static_cast<double>(random.integer(1, 3));
    delta->set_real(0, random.sign() * magnitude);
  }
  // Steps of any size, from a start that leaves them room: the last number stays in the type, and half a step counts
  // beside the start.
  if (input_class == InputClass::wide && is_float(dtype) && inputs[0] && inputs[2]) {
    const double most = std::floor(std::log2(largest_finite(dtype))) - 1 - std::log2(std::max(count, 1.0));
    const double least = std::log2(smallest_subnormal(dtype));
    const double far = random.uniform(least, most);
    const double lowest = std::max(far - 12, least + 8);
    inputs[0]->set_real(0, random.sign() * std::exp2(far));
    inputs[2]->set_real(0,
                        random.sign() * std::exp2(random.uniform(lowest, std::max(std::min(far + 4, most), lowest))));
  }
  const auto known = [&](std::size_t i) { return inputs[i] ? inputs[i] : call.constants[i]; };
  if (!inputs[1] || !known(0) || !known(2)) return;
  // Half a step before the next number would come: no rounding changes the count.
  const double steps = is_float(dtype) ? count - 0.5 : count;
  inputs[1]->set_real(0, known(0)->real(0) + known(2)->real(0) * steps);
}

Op range() {
  Op op;
  op.name = "Range";
  op.meaning = "the numbers from start up to before limit, delta apart";
  op.since = 11;
  op.inputs = {{.name = "start", .types = kRangeTypes},
               {.name = "limit", .types = kRangeTypes},
               {.name = "delta", .types = kRangeTypes}};
  op.outputs = {{"output"}};
  op.infer = infer_range;
  op.reference = compute_range;
  op.flops = [](const Call& call) { return 2 * output_count(call); };
  op.draw = draw_range;
  op.sample = [](Random& random) {
    const DType type = random.pick({DType::float32, DType::float32, DType::int32, DType::int64});
    Tensor start(type, Shape{}), limit(type, Shape{}), delta(type, Shape{});
    start.set_real(0, random.normal() * 10);
    delta.set_real(0, random.sign() * (is_float(type) ? random.uniform(0.1, 2) : 3));
    limit.set_real(0, start.real(0) + delta.real(0) * (static_cast<double>(random.integer(0, 200)) - 0.4));
    return Sample().constant(std::move(start)).constant(std::move(limit)).constant(std::move(delta));
  };
  return op;
}

}  // namespace

std::vector<Op> generation() { return {shape(), size(), constant(), constant_of_shape(), eye_like(), range()}; }

}  // namespace kw::ops::families
