// Arithmetic of two or more tensors with broadcasting: sums, products, quotients, powers, remainders, extremes, limits
// and shifts.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::int64_t integer(std::uint64_t x) { return static_cast<std::int64_t>(x); }

// ---- division and remainders

// Toward zero. The lowest number divided by -1 wraps to itself.
std::int64_t quotient(const Call& call, std::int64_t x, std::int64_t y) {
  if (call.dtype(0) == DType::uint64) return integer(bits(x) / bits(y));
  return y == -1 ? minus(0, x) : x / y;
}

// With fmod the sign of x, as C's %; without it that of y, as Python's.
std::int64_t remainder(const Call& call, std::int64_t x, std::int64_t y) {
  if (call.dtype(0) == DType::uint64) return integer(bits(x) % bits(y));
  if (y == -1) return 0;
  const std::int64_t rest = x % y;
  const bool other_side = rest != 0 && (rest < 0) != (y < 0);
  return call.integer("fmod") == 0 && other_side ? rest + y : rest;
}

double real_remainder(const Call& call, double x, double y) {
  const double rest = std::fmod(x, y);
  const bool other_side = rest != 0 && (rest < 0) != (y < 0);
  return call.integer("fmod") == 0 && other_side ? rest + y : rest;
}

// Zeros do not divide integers; and processors trap when the lowest number is divided by -1.
void draw_divisible(const Call& call, InputClass, Random& random, std::span<Tensor* const> in) {
  if (is_float(call.dtype(0))) return;
  for (std::int64_t i = 0; in[1] && i < in[1]->count(); ++i) {
    const std::int64_t divisor = in[1]->integer(i);
    if (divisor == 0 || (divisor == -1 && !in[0])) in[1]->set_integer(i, random.integer(1, 9));
  }
  if (!in[0] || !is_signed(call.dtype(0))) return;
  const std::int64_t lowest = lowest_integer(call.dtype(0));
  for (std::int64_t i = 0; i < in[0]->count(); ++i) {
    if (in[0]->integer(i) == lowest) in[0]->set_integer(i, lowest + 1);
  }
}

// With fmod a kernel may go through C's function of doubles, which do not hold every 64-bit integer.
void draw_remainders(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> in) {
  draw_divisible(call, input_class, random, in);
  if (is_float(call.dtype(0)) || call.integer("fmod") == 0) return;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  for (Tensor* tensor : in) {
    for (std::int64_t i = 0; tensor && i < tensor->count(); ++i) {
      const std::int64_t value = tensor->integer(i);
      if (value > kMost || value < -kMost) tensor->set_integer(i, value % (kMost - 1) + 1);
    }
  }
}

// The operator with an error in place of an integer division by zero.
Op without_zero_divisors(Op op) {
  op.reference = [divide = op.reference](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const auto& divisors = in[1]->integers;
    const auto zero = std::ranges::find(divisors, 0);
    if (out[0].count() > 0 && zero != divisors.end()) {
      return fail("element {} of input 'B' is 0, and an integer cannot be divided by 0", zero - divisors.begin());
    }
    return divide(call, in, out);
  };
  return op;
}

Op division() {
  // A product with the reciprocal of a divisor that many elements share is an honest way to it.
  return without_zero_divisors(binary({.name = "Div",
                                       .meaning = "A divided by B; integers toward zero",
                                       .f = [](const Call&, double x, double y) { return x / y; },
                                       .integer = quotient,
                                       .accuracy = {.ulps = 2},
                                       .left = whole_line(),
                                       .right = whole_line(),
                                       .draw = draw_divisible}));
}

Op modulo() {
  Op op = without_zero_divisors(
      binary({.name = "Mod",
              .meaning = "the remainder of A divided by B, with the sign of B, or with fmod that of A",
              .since = 13,
              .f = real_remainder,
              .integer = remainder,
              .slack = [](const Call& call, double, double,
                          double z) { return call.integer("fmod") ? 0 : kRounded.bound(z, call.dtype(0)); },
              .left = whole_line(),
              .right = whole_line(),
              .attributes = {{.name = "fmod", .fallback = std::int64_t{0}}},
              .sample_attributes =
                  [](Random& random, Sample& sample) {
                    const bool real = is_float(sample.inputs[0].type->dtype);
                    sample.attribute("fmod", real ? std::int64_t{1} : random.integer(0, 1));
                  },
              .draw = draw_remainders}));
  op.infer = [shape_rule = op.infer](const Call& call) -> Result<Types> {
    if (is_float(call.dtype(0)) && call.integer("fmod") == 0 && call.opset < 28) {
      return fail("{} needs fmod = 1 before opset 28", name_of(call.dtype(0)));
    }
    return shape_rule(call);
  };
  return op;
}

// ---- powers

std::int64_t power(std::int64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t factor = bits(base); exponent > 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 == 1) result *= factor;
  }
  return integer(result);
}

Result<std::int64_t> power_of_integer(std::int64_t base, const WideTensor& exponents, std::size_t at) {
  if (exponents.dtype == DType::uint64) return power(base, bits(exponents.integers[at]));
  const double exponent = exponents.number(at);
  if (!(exponent >= 0)) return fail("{} to the power of {} is no integer", base, exponent);
  if (!is_float(exponents.dtype)) return power(base, bits(exponents.integers[at]));
  if (exponent == std::floor(exponent) && exponent < 0x1p53) return power(base, static_cast<std::uint64_t>(exponent));
  const double result = std::pow(static_cast<double>(base), exponent);
  if (!(std::fabs(result) < 0x1p63)) return fail("{} to the power of {} is no integer", base, exponent);
  return static_cast<std::int64_t>(result);
}

Status powers_of_integers(const WideTensor& x, const WideTensor& y, WideTensor& z) {
  Status status;
  BroadcastWalk(z.shape, {x.shape, y.shape}).each([&](std::size_t i, const std::size_t* at) {
    const auto result = power_of_integer(x.integers[at[0]], y, at[1]);
    if (result.ok()) {
      z.integers[i] = wrap(*result, z.dtype);
    } else if (status.ok()) {
      status = result.error();
    }
  });
  return status;
}

// exp(y * log(x)) multiplies the roundings of its logarithm by the result's own.
double slack_of_power(const Call& call, double, double, double z) {
  const double logarithm = z == 0 ? 0 : std::fabs(std::log(std::fabs(z)));
  return Accuracy{.ulps = 8 + 2 * logarithm, .flushes = true}.bound(z, call.dtype(0));
}

const Tensor* known(const Call& call, std::span<Tensor* const> in, std::size_t input) {
  return in[input] ? in[input] : call.constants[input];
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) largest = std::max(largest, std::fabs(tensor.real(i)));
  return largest;
}

// Whole exponents, small enough for the base's type, and for a kernel that goes through double.
void draw_integer_powers(const Call& call, std::span<Tensor* const> in) {
  constexpr double kLargestExponent = 10;
  const Tensor* base = known(call, in, 0);
  if (!base || !known(call, in, 1)) return;
  const double most = std::min(static_cast<double>(highest_integer(base->dtype())), 0x1p53);
  if (in[1]) {
    const double fits = std::log(most) / std::log(std::max(2.0, largest_magnitude(*base)));
    const double limit = 1 + std::floor(in[0] ? kLargestExponent : std::min(fits, kLargestExponent));
    for (std::int64_t i = 0; i < in[1]->count(); ++i) {
      in[1]->set_real(i, std::fmod(std::floor(std::fabs(in[1]->real(i))), limit));
    }
  }
  if (!in[0]) return;
  const double exponent = std::max(1.0, largest_magnitude(*known(call, in, 1)));
  const double limit = std::max(2.0, std::floor(std::pow(most, 1 / exponent)));
  for (std::int64_t i = 0; i < in[0]->count(); ++i) in[0]->set_real(i, std::fmod(in[0]->real(i), limit));
}

// A negative number has no power but the whole ones: typical bases are positive unless all exponents are whole, and
// among hard inputs half of the exponents are.
void draw_powers(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> in) {
  if (!is_float(call.dtype(0))) return draw_integer_powers(call, in);
  const Tensor* exponents = known(call, in, 1);
  bool all_whole = exponents != nullptr;
  for (std::int64_t i = 0; all_whole && i < exponents->count(); ++i) {
    all_whole = exponents->real(i) == std::floor(exponents->real(i));
  }
  if (all_whole) return;
  if (input_class == InputClass::typical) {
    for (std::int64_t i = 0; in[0] && i < in[0]->count(); ++i) in[0]->set_real(i, std::fabs(in[0]->real(i)));
  } else {
    for (std::int64_t i = 0; in[1] && i < in[1]->count(); ++i) {
      if (random.chance(0.5)) in[1]->set_real(i, std::round(in[1]->real(i)));
    }
  }
}

Op pow_op() {
  Op op = binary({.name = "Pow",
                  .meaning = "X to the power of Y, in X's type",
                  .since = 13,
                  .f = [](const Call&, double x, double y) { return std::pow(x, y); },
                  .slack = slack_of_power,
                  .left = {.points = {0, 1, -1, 2}, .infinities = true, .far = 1e3},
                  .right = {.points = {0, 0.5, 1, 2, 3, -1, -2}, .far = 20},
                  .flops = 2 * kFunctionFlops,
                  .types = kFloats | DTypes{DType::int32, DType::int64},
                  .draw = draw_powers});
  op.inputs[0].name = "X";
  op.inputs[1] = {.name = "Y", .types = kNumbers, .group = "T1", .domain = op.inputs[1].domain};
  op.outputs = {{"Z"}};
  op.reference = [reals = op.reference](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    if (!is_float(in[0]->dtype)) return powers_of_integers(*in[0], *in[1], out[0]);
    if (is_float(in[1]->dtype)) return reals(call, in, out);
    WideTensor exponents(TensorType{DType::float64, in[1]->shape});
    for (std::size_t i = 0; i < exponents.reals.size(); ++i) exponents.reals[i] = in[1]->number(i);
    const WideTensor* both[] = {in[0], &exponents};
    return reals(call, both, out);
  };
  op.sample = [same_types = op.sample](Random& random) {
    Sample sample = same_types(random);
    if (random.chance(0.3)) {
      sample.inputs[1].type->dtype = random.pick({DType::float32, DType::int32, DType::int64});
    }
    return sample;
  };
  return op;
}

// ---- any number of inputs

Op variadic_op(std::string name, std::string meaning, DTypes types, Domain domain,
               std::function<Status(const Call&, WideInputs, std::span<WideTensor>)> reference) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 8;
  op.inputs = {{.name = "data_0", .types = types, .domain = std::move(domain), .variadic = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    Shape shape;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      KW_TRY(shape, broadcast(shape, call.shape(i)));
    }
    return Types{{call.dtype(0), std::move(shape)}};
  };
  op.reference = std::move(reference);
  op.flops = [](const Call& call) { return static_cast<double>(call.inputs.size()) * output_count(call); };
  op.sample = [types](Random& random) {
    Sample sample;
    const DType type = sample_type(random, types);
    const Shape shape = sample_shape(random, 0, 4, true);
    for (auto left = random.integer(1, 4); left > 0; --left) {
      sample.input(type, random.chance(0.5) ? shape : sample_broadcast(random, shape));
    }
    return sample;
  };
  return op;
}

// Calls f(out_index, input_index, k) for every element of the result and every input k.
template <class F>
void each_of_all(WideInputs in, const Shape& shape, F&& f) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    BroadcastWalk(shape, {in[k]->shape}).each([&](std::size_t i, const std::size_t* at) { f(i, at[0], k); });
  }
}

bool all_exact(WideInputs in) {
  return std::ranges::all_of(in, [](const WideTensor* input) { return input->exact(); });
}

void extremes_of_integers(double sign, WideInputs in, WideTensor& y) {
  const auto better = [&](std::int64_t a, std::int64_t b) {
    return sign > 0 ? in_order(a, y.dtype) > in_order(b, y.dtype) : in_order(a, y.dtype) < in_order(b, y.dtype);
  };
  each_of_all(in, y.shape, [&](std::size_t i, std::size_t at, std::size_t k) {
    const std::int64_t x = in[k]->integers[at];
    if (k == 0 || better(x, y.integers[i])) y.integers[i] = x;
  });
}

void extremes_of_reals(double sign, WideInputs in, WideTensor& y) {
  const bool exact = all_exact(in);
  if (!exact) y.add_slack();
  each_of_all(in, y.shape, [&](std::size_t i, std::size_t at, std::size_t k) {
    const double x = in[k]->reals[at];
    if (k == 0 || sign * x > sign * y.reals[i]) y.reals[i] = x;
    if (!exact) y.slack[i] = std::max(y.slack[i], in[k]->slack_at(at));
  });
}

// The largest for a positive sign, the smallest for a negative one.
Op extreme(std::string name, std::string meaning, double sign) {
  return variadic_op(std::move(name), std::move(meaning), kNumbers, {.infinities = true},
                     [sign](const Call&, WideInputs in, std::span<WideTensor> out) -> Status {
                       if (is_float(out[0].dtype)) {
                         extremes_of_reals(sign, in, out[0]);
                       } else {
                         extremes_of_integers(sign, in, out[0]);
                       }
                       return {};
                     });
}

// The sum, where no order of adding rounds more often than `roundings` times: each time to a number that is at most the
// sum of the magnitudes.
void add_inputs(WideInputs in, WideTensor& y, std::size_t roundings) {
  std::vector<double> magnitude(y.reals.size(), 0.0);
  y.add_slack();
  each_of_all(in, y.shape, [&](std::size_t i, std::size_t at, std::size_t k) {
    y.reals[i] += in[k]->reals[at];
    magnitude[i] += std::fabs(in[k]->reals[at]);
    y.slack[i] += in[k]->slack_at(at);
  });
  const double share = 1.01 * static_cast<double>(roundings) * unit_roundoff(y.dtype);
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    if (std::isfinite(y.reals[i])) y.slack[i] += share * magnitude[i];
  }
}

Op sum() {
  return variadic_op("Sum", "the sum of all inputs", kFloats, whole_line(),
                     [](const Call&, WideInputs in, std::span<WideTensor> out) -> Status {
                       add_inputs(in, out[0], in.size() - 1);
                       return {};
                     });
}

// The terms may be divided before they are added: one more rounding of each.
Status mean_reference(const Call&, WideInputs in, std::span<WideTensor> out) {
  constexpr Accuracy kDivided{.ulps = 2};
  WideTensor& y = out[0];
  add_inputs(in, y, in.size());
  const auto n = static_cast<double>(in.size());
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.reals[i] /= n;
    y.slack[i] = y.slack[i] / n + kDivided.bound(y.reals[i], y.dtype) + n * smallest_subnormal(y.dtype);
  }
  return {};
}

// ---- limits

// One of Clip's limits: an input from opset 11 on, an attribute before, the type's end where neither is given.
struct Limit {
  double real;
  double slack = 0;
  std::int64_t integer;  // in order
};

Limit limit(const Call& call, WideInputs in, std::size_t input, const char* attribute) {
  const DType dtype = call.dtype(0);
  if (call.has(input)) {
    if (is_float(dtype)) return {in[input]->reals[0], in[input]->slack_at(0), 0};
    return {0, 0, in_order(in[input]->integers[0], dtype)};
  }
  // The attribute is a float32, the limit one of the tensor's numbers.
  if (call.attributes.has(attribute)) return {Tensor::scalar(call.real(attribute), dtype).real(0), 0, 0};
  const bool is_low = input == 1;
  using Bounds = std::numeric_limits<std::int64_t>;
  if (!is_float(dtype)) return {0, 0, is_low ? Bounds::min() : Bounds::max()};
  return {is_low ? -largest_finite(dtype) : largest_finite(dtype), 0, 0};
}

Status clip_reference(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const Limit low = limit(call, in, 1, "min");
  const Limit high = limit(call, in, 2, "max");
  for (std::size_t i = 0; i < x.integers.size(); ++i) {
    const std::int64_t cut = std::min(high.integer, std::max(in_order(x.integers[i], x.dtype), low.integer));
    y.integers[i] = in_order(cut, x.dtype);
  }
  for (std::size_t i = 0; i < x.reals.size(); ++i) y.reals[i] = std::min(high.real, std::max(x.reals[i], low.real));
  // NaN is not drawn, but may come of what was computed before; to what it is cut is not said.
  const auto is_nan = [](double number) { return std::isnan(number); };
  if (!is_float(x.dtype)) return {};
  if (x.exact() && low.slack == 0 && high.slack == 0 && std::ranges::none_of(x.reals, is_nan)) return {};
  y.add_slack();
  for (std::size_t i = 0; i < x.reals.size(); ++i) {
    if (is_nan(x.reals[i])) {
      y.slack[i] = std::numeric_limits<double>::infinity();
      continue;
    }
    const double most = std::min(high.real + high.slack, std::max(x.reals[i] + x.slack_at(i), low.real + low.slack));
    const double least = std::min(high.real - high.slack, std::max(x.reals[i] - x.slack_at(i), low.real - low.slack));
    y.slack[i] = most == least ? 0 : std::max(most - y.reals[i], y.reals[i] - least);
  }
  return {};
}

Result<Types> infer_clip(const Call& call) {
  KW_CHECK(call.check_one_number({1, 2}));
  for (std::size_t input : {1, 2}) {
    const char* name = input == 1 ? "min" : "max";
    if (!call.attributes.has(name)) continue;
    if (call.has(input)) return fail("'{}' is given twice, as an input and as an attribute", name);
    if (!is_float(call.dtype(0))) return fail("attribute '{}' cannot limit {}", name, name_of(call.dtype(0)));
  }
  return Types{{call.dtype(0), call.shape(0)}};
}

// Limits that cross are defined, but leave one answer for all elements: not for typical inputs.
void draw_limits(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> in) {
  std::vector<double> points;
  for (std::size_t k = 1; k < in.size(); ++k) {
    if (const Tensor* limit = call.has(k) ? known(call, in, k) : nullptr) points.push_back(limit->real(0));
  }
  if (points.size() == 2 && in[1] && in[2] && points[0] > points[1] && input_class == InputClass::typical) {
    std::swap(*in[1], *in[2]);
  }
  for (const char* name : {"min", "max"}) {
    if (call.attributes.has(name)) points.push_back(call.real(name));
  }
  if (in[0]) draw_near(*in[0], points, input_class, random);
}

Sample sample_clip(Random& random) {
  Sample sample;
  const DType type = sample_type(random, kNumbers);
  sample.input(type, sample_shape(random, 0, 4, true));
  const bool has_low = random.chance(0.7);
  const bool has_high = random.chance(0.7);
  if (has_low && random.chance(0.5)) {
    sample.constant(Tensor::scalar(random.pick({-0.5, 0.0, -1.0}), type));
  } else if (has_low) {
    sample.input(type, {});
  } else if (has_high) {
    sample.absent();
  }
  if (has_high) sample.input(type, {});
  return sample;
}

Op clip() {
  Op op;
  op.name = "Clip";
  op.meaning = "every element cut to the range from min to max; max where they cross";
  op.since = 11;
  op.attributes = {{.name = "min", .kind = AttributeKind::real}, {.name = "max", .kind = AttributeKind::real}};
  // What becomes of an infinity where a limit is left out is read in two ways, so none is drawn.
  op.inputs = {{.name = "input", .types = kNumbers},
               {.name = "min", .types = kNumbers, .optional = true},
               {.name = "max", .types = kNumbers, .optional = true}};
  op.outputs = {{"output"}};
  op.infer = infer_clip;
  op.reference = clip_reference;
  op.flops = [](const Call& call) { return 2 * input_count(call); };
  op.draw = draw_limits;
  op.sample = sample_clip;
  return op;
}

// ---- shifts

// Whatever is shifted beyond the type leaves zeros, or the signs of negative numbers that are shifted right.
std::int64_t shifted(const Call& call, std::int64_t x, std::int64_t y) {
  const bool right = call.text("direction") == "RIGHT";
  const bool keeps_sign = right && is_signed(call.dtype(0));
  if (bits(y) >= 8 * size_bytes(call.dtype(0))) return keeps_sign && x < 0 ? -1 : 0;
  if (keeps_sign) return x >> y;
  return integer(right ? bits(x) >> y : bits(x) << y);
}

// Shifts by the width and more are what processors disagree on.
void draw_shifts(const Call& call, InputClass, Random&, std::span<Tensor* const> in) {
  const std::uint64_t width = 8 * size_bytes(call.dtype(0));
  for (std::int64_t i = 0; in[1] && i < in[1]->count(); ++i) {
    in[1]->set_integer(i, integer(bits(in[1]->integer(i)) % width));
  }
}

Op bit_shift() {
  Op op =
      binary({.name = "BitShift",
              .meaning = "the bits of X moved left or right by Y",
              .since = 11,
              .integer = shifted,
              .types = kUnsignedIntegers,
              .attributes =
                  {{.name = "direction", .kind = AttributeKind::text, .required = true, .choices = {"LEFT", "RIGHT"}}},
              .sample_attributes =
                  [](Random& random, Sample& sample) {
                    sample.attribute("direction", std::string(random.chance(0.5) ? "LEFT" : "RIGHT"));
                  },
              .draw = draw_shifts});
  op.inputs[0] = {.name = "X", .types = kIntegers};
  op.inputs[1] = {.name = "Y", .types = kIntegers};
  op.outputs = {{"Z"}};
  op.infer = [shape_rule = op.infer](const Call& call) -> Result<Types> {
    if (is_signed(call.dtype(0)) && call.opset < 28) return fail("shifts of signed integers came with opset 28");
    return shape_rule(call);
  };
  return op;
}

}  // namespace

std::vector<Op> arithmetic() {
  return {
      binary({.name = "Add",
              .meaning = "A plus B",
              .f = [](const Call&, double x, double y) { return x + y; },
              .integer = [](const Call&, std::int64_t x, std::int64_t y) { return plus(x, y); },
              .left = whole_line(),
              .right = whole_line()}),
      bit_shift(),
      clip(),
      division(),
      extreme("Max", "the largest of all inputs", 1),
      variadic_op("Mean", "the mean of all inputs", kFloats, whole_line(), mean_reference),
      extreme("Min", "the smallest of all inputs", -1),
      modulo(),
      binary({.name = "Mul",
              .meaning = "A times B",
              .f = [](const Call&, double x, double y) { return x * y; },
              .integer = [](const Call&, std::int64_t x, std::int64_t y) { return times(x, y); },
              .left = whole_line(),
              .right = whole_line()}),
      pow_op(),
      binary({.name = "Sub",
              .meaning = "A minus B",
              .f = [](const Call&, double x, double y) { return x - y; },
              .integer = [](const Call&, std::int64_t x, std::int64_t y) { return minus(x, y); },
              .left = whole_line(),
              .right = whole_line()}),
      sum(),
  };
}

}  // namespace kw::ops::families
