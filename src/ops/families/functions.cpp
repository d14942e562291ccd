// Functions of one element: magnitudes and signs, roundings, roots, exponentials, tests for NaN and infinity, and the
// negations of bits.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

Domain not_negative(std::vector<double> points) {
  return {.low = 0, .points = std::move(points), .infinities = true, .nans = true, .far = 1e30};
}

// Halves, whole numbers, and where float32's halves and then int32 end: kernels that go through an integer type show.
Domain rounding_domain() {
  return whole_line({0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2.5, -2.5, 4194304.5, -4194303.5, 8388607.5, 8388609, -8388609,
                     2147483648.0, -2147483904.0, 1e10},
                    1e10);
}

// Below zero the answer is NaN, which is defined and yet not typical.
void draw_some_negative(const Call&, InputClass input_class, Random& random, std::span<Tensor* const> in) {
  if (!in[0] || input_class != InputClass::special) return;
  for (std::int64_t i = 0; i < in[0]->count(); ++i) {
    if (random.chance(0.1)) in[0]->set_real(i, -in[0]->real(i));
  }
}

// Typical inputs hold none of what these tests look for, so some of it is put in.
void draw_not_finite(const Call& call, InputClass, Random& random, std::span<Tensor* const> in) {
  if (!in[0]) return;
  const double largest = largest_finite(call.dtype(0));
  for (std::int64_t i = 0; i < in[0]->count(); ++i) {
    const double chosen = random.unit();
    if (chosen < 0.2) in[0]->set_real(i, std::copysign(NAN, random.sign()));
    if (chosen >= 0.2 && chosen < 0.4) in[0]->set_real(i, random.sign() * INFINITY);
    if (chosen >= 0.4 && chosen < 0.5) in[0]->set_real(i, random.sign() * largest);
  }
}

// Y is bool: does the test hold for the element?
Op float_test(std::string name, std::string meaning, int since, bool (*holds)(const Call&, double),
              std::vector<AttributeSpec> attributes = {}) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.attributes = std::move(attributes);
  op.inputs = {{.name = "X", .domain = whole_line()}};
  op.infer = [](const Call& call) -> Result<Types> { return Types{{DType::boolean, call.shape(0)}}; };
  op.reference = [holds](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    for (std::size_t i = 0; i < in[0]->reals.size(); ++i) out[0].integers[i] = holds(call, in[0]->reals[i]);
    return {};
  };
  op.flops = input_count;
  op.draw = draw_not_finite;
  op.sample = [names = op.attributes](Random& random) {
    Sample sample;
    sample.input(sample_type(random, {DType::float32, DType::float64}), sample_shape(random, 0, 4, true));
    for (const AttributeSpec& attribute : names) sample.attribute(attribute.name, random.integer(0, 1));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> functions() {
  return {
      unary({.name = "Abs",
             .meaning = "the magnitude of every element",
             .since = 6,
             .f = [](double x) { return std::fabs(x); },
             .integer = [](const Call& call,
                           std::int64_t x) { return is_signed(call.dtype(0)) && x < 0 ? minus(0, x) : x; },
             .accuracy = kExact,
             .domain = whole_line({0}),
             .flops = 1,
             .types = kNumbers}),
      unary({.name = "BitwiseNot",
             .meaning = "every bit of every element turned over",
             .since = 18,
             .integer = [](const Call&, std::int64_t x) { return ~x; },
             .flops = 1,
             .types = kIntegers}),
      unary({.name = "Ceil",
             .meaning = "the smallest whole number not below the element",
             .since = 6,
             .f = [](double x) { return std::ceil(x); },
             .accuracy = kExact,
             .domain = rounding_domain(),
             .flops = 1}),
      // An approximation of a fixed absolute error is an honest way to it.
      unary({.name = "Erf",
             .meaning = "the error function of every element",
             .since = 9,
             .f = [](double x) { return std::erf(x); },
             .accuracy = kFunctionAroundOne,
             .domain = whole_line({0, 0.5, -0.5, 1, -1, 2, -2, 4, -4})}),
      unary({.name = "Exp",
             .meaning = "e to the power of every element",
             .since = 6,
             .f = [](double x) { return std::exp(x); },
             .domain = whole_line({0, 1, -1, 88.5, 88.73, 89.5, -87.3, -87.4, -103, -104.5})}),
      unary({.name = "Floor",
             .meaning = "the largest whole number not above the element",
             .since = 6,
             .f = [](double x) { return std::floor(x); },
             .accuracy = kExact,
             .domain = rounding_domain(),
             .flops = 1}),
      float_test("IsInf", "whether an element is infinite, of the signs asked for", 10,
                 [](const Call& call, double x) {
                   return std::isinf(x) && call.integer(x > 0 ? "detect_positive" : "detect_negative") != 0;
                 },
                 {{.name = "detect_negative", .fallback = std::int64_t{1}},
                  {.name = "detect_positive", .fallback = std::int64_t{1}}}),
      float_test("IsNaN", "whether an element is not a number", 9, [](const Call&, double x) { return std::isnan(x); }),
      unary({.name = "Log",
             .meaning = "the natural logarithm of every element; NaN below 0",
             .since = 6,
             .f = [](double x) { return std::log(x); },
             .domain = not_negative({0, 0.5, M_SQRT1_2, 1, M_SQRT2, 2}),
             .draw = draw_some_negative}),
      unary({.name = "Neg",
             .meaning = "every element with its sign turned over",
             .since = 6,
             .f = [](double x) { return -x; },
             .integer = [](const Call&, std::int64_t x) { return minus(0, x); },
             .accuracy = kExact,
             .domain = whole_line({0}),
             .flops = 1,
             .types = kFloats | kSignedIntegers}),
      unary({.name = "Not",
             .meaning = "true for false and false for true",
             .since = 1,
             .integer = [](const Call&, std::int64_t x) -> std::int64_t { return x == 0; },
             .flops = 1,
             .types = kBool}),
      // An estimate refined by Newton's steps is an honest way to it, and to the root.
      unary({.name = "Reciprocal",
             .meaning = "1 divided by every element",
             .since = 6,
             .f = [](double x) { return 1 / x; },
             .accuracy = {.ulps = 4},
             .domain = whole_line({0, 1, -1, 3, -3}, 1e30),
             .flops = 1}),
      unary({.name = "Round",
             .meaning = "the nearest whole number, of two equally near the even one",
             .since = 11,
             .f = [](double x) { return std::nearbyint(x); },
             .accuracy = kExact,
             .domain = rounding_domain(),
             .flops = 1}),
      unary({.name = "Sign",
             .meaning = "1 for a positive element, -1 for a negative one, 0 for zero",
             .since = 9,
             .f = [](double x) { return static_cast<double>((x > 0) - (x < 0)); },
             .integer = [](const Call& call, std::int64_t x) -> std::int64_t {
               return x == 0 ? 0 : is_signed(call.dtype(0)) && x < 0 ? -1 : 1;
             },
             .accuracy = kExact,
             .domain = {.points = {0}, .infinities = true},
             .flops = 1,
             .types = kNumbers}),
      unary({.name = "Sqrt",
             .meaning = "the square root of every element; NaN below 0",
             .since = 6,
             .f = [](double x) { return std::sqrt(x); },
             .accuracy = {.ulps = 4},
             .domain = not_negative({0, 1, 2, 4}),
             .flops = 1,
             .draw = draw_some_negative}),
  };
}

}  // namespace kw::ops::families
