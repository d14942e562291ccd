// The functions that stand between the layers of networks: rectifiers, exponential units, sigmoids and gates.
//
// Most are written in the literature as formulas that pass through 1 (exp(x) - 1, 1 + erf(x)); computed so, they carry
// roundings of 1 into results that are much smaller, and such kernels are right: the slack of each function says by how
// much.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

constexpr double kRoundingsOfOne = 8;  // in units of u, what a formula that passes through 1 may lose

AttributeSpec real_attribute(std::string name, double fallback) {
  return {.name = std::move(name), .kind = AttributeKind::real, .fallback = fallback};
}

std::function<void(Random&, Sample&)> sample_real(std::string name, double low, double high) {
  return [=](Random& random, Sample& sample) {
    if (random.chance(0.7)) sample.attribute(name, random.uniform(low, high));
  };
}

// Where exponentials leave float32's range or fall below 1's last bit.
const std::vector<double> kExponentialPoints = {0, -1, 1, -17, 17, -87.3, -88.7, 88.7, 89, -104};

Domain line_with_ends(std::vector<double> points) { return {.points = std::move(points), .infinities = true}; }
// At -infinity these are 0 times infinity in code that follows the formula to the letter.
Domain line_without_ends(std::vector<double> points) { return {.points = std::move(points)}; }

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double gelu(const Call& call, double x) {
  if (call.text("approximate") == "none") return 0.5 * x * std::erfc(-x * M_SQRT1_2);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Of x times a gate in 0..1, where the gate may have been computed through 1.
double slack_of_gated(const Call& call, double x, double y) {
  return kRoundingsOfOne * unit_roundoff(call.dtype(0)) * std::fabs(x) + kFunction.bound(y, call.dtype(0));
}

// Of scale * (exp(x) - 1).
double slack_of_exponential(const Call& call, double scale, double y) {
  return kRoundingsOfOne * unit_roundoff(call.dtype(0)) * std::fabs(scale) + kFunction.bound(y, call.dtype(0));
}

double cut_to_one(double x) { return std::clamp(x, 0.0, 1.0); }

// Of alpha * x + beta cut to 0..1, however it is written: none where it is cut for sure.
double slack_of_ramp(double alpha, double beta, double x, DType dtype) {
  if (std::isinf(x)) return 0;
  const double straight = alpha * x + beta;
  const double slack =
      unit_roundoff(dtype) * (3 * std::fabs(alpha * x) + 2 * std::fabs(beta)) + smallest_subnormal(dtype);
  const double y = cut_to_one(straight);
  return std::max(cut_to_one(straight + slack) - y, y - cut_to_one(straight - slack));
}

// A hook that draws around the thresholds that the attributes set.
DrawHook draw_near_thresholds(std::vector<double> (*thresholds)(const Call&)) {
  return [thresholds](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> in) {
    if (in[0]) draw_near(*in[0], thresholds(call), input_class, random);
  };
}

Op hard_sigmoid() {
  return unary(
      {.name = "HardSigmoid",
       .meaning = "alpha * x + beta cut to the range 0 to 1",
       .since = 6,
       .f_with_call = [](const Call& call, double x) { return cut_to_one(call.real("alpha") * x + call.real("beta")); },
       .slack = [](const Call& call, double x,
                   double) { return slack_of_ramp(call.real("alpha"), call.real("beta"), x, call.dtype(0)); },
       .domain = line_with_ends({0, -3, 3, -2.5, 2.5}),
       .flops = 4,
       .attributes = {real_attribute("alpha", 0.2), real_attribute("beta", 0.5)},
       .sample_attributes =
           [](Random& random, Sample& sample) {
             if (random.chance(0.3)) return;
             sample.attribute("alpha", random.uniform(0.1, 0.6));
             sample.attribute("beta", random.uniform(0.3, 0.7));
           },
       .draw = draw_near_thresholds([](const Call& call) -> std::vector<double> {
         const double alpha = call.real("alpha");
         const double beta = call.real("beta");
         return {-beta / alpha, (1 - beta) / alpha};
       })});
}

Op celu() {
  Op op = unary({.name = "Celu",
                 .meaning = "x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere",
                 .since = 12,
                 .f_with_call =
                     [](const Call& call, double x) {
                       const double alpha = call.real("alpha");
                       return x > 0 ? x : alpha * std::expm1(x / alpha);
                     },
                 .slack = [](const Call& call, double x,
                             double y) { return x > 0 ? 0 : slack_of_exponential(call, call.real("alpha"), y); },
                 .domain = line_with_ends(kExponentialPoints),
                 .types = {DType::float32},  // sampled; the others came with opset 28
                 .attributes = {real_attribute("alpha", 1)},
                 .sample_attributes = sample_real("alpha", 0.3, 3)});
  op.inputs[0].types = kFloats;
  op.infer = [](const Call& call) -> Result<Types> {
    if (call.real("alpha") == 0) return fail("attribute 'alpha' is 0, but x is divided by it");
    return Types{{call.dtype(0), call.shape(0)}};
  };
  return op;
}

Op prelu() {
  Op op = binary({.name = "PRelu",
                  .meaning = "x where it is not negative, slope * x elsewhere; slope broadcasts to x",
                  .since = 9,
                  .f = [](const Call&, double x, double slope) { return x < 0 ? slope * x : x; },
                  .integer =
                      [](const Call& call, std::int64_t x, std::int64_t slope) {
                        if (!is_signed(call.dtype(0)) || x >= 0) return x;
                        return times(x, slope);
                      },
                  .slack = [](const Call& call, double x, double,
                              double y) { return x < 0 ? kRounded.bound(y, call.dtype(0)) : 0; },
                  .left = line_with_ends({0}),
                  .flops = 2,
                  .types = kFloats | kWideIntegers});
  op.inputs[0].name = "X";
  op.inputs[1].name = "slope";
  op.outputs = {{"Y"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const auto both = broadcast(call.shape(0), call.shape(1));
    if (!both.ok() || *both != call.shape(0)) {
      return fail("slope {} does not broadcast to X {}", call.shape(1).text(), call.shape(0).text());
    }
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.sample = [types = op.inputs[0].types](Random& random) {
    Sample sample;
    const DType type = sample_type(random, types);
    const Shape shape = sample_shape(random, 1, 4, true);
    sample.input(type, shape).input(type, sample_broadcast(random, shape));
    return sample;
  };
  return op;
}

template <class Number>  // long double holds every 64-bit integer
Number shrunk(const Call& call, Number x) {
  const double lambd = call.real("lambd");
  const double bias = call.real("bias");
  if (x < -lambd) return x + bias;
  if (x > lambd) return x - bias;
  return 0;
}

// The fraction is cut off, as in a conversion to the type.
std::int64_t shrunk_integer(const Call& call, std::int64_t x) {
  const bool is_unsigned = call.dtype(0) == DType::uint64;
  const auto wide = is_unsigned ? static_cast<long double>(static_cast<std::uint64_t>(x)) : static_cast<long double>(x);
  const long double result = shrunk(call, wide);
  if (result < 0) return static_cast<std::int64_t>(std::max(result, -0x1p63L));
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(std::min(result, 0x1p64L - 1)));
}

Op shrink() {
  constexpr double kFar = 1e6;  // beyond it float32, in which the attributes come, does not hold all integers
  Op op = unary({.name = "Shrink",
                 .meaning = "x + bias below -lambd, x - bias above lambd, 0 between",
                 .since = 9,
                 .f_with_call = shrunk<double>,
                 .integer = shrunk_integer,
                 .slack = [](const Call& call, double, double y) { return kRounded.bound(y, call.dtype(0)); },
                 .domain = {.low = -kFar, .high = kFar, .points = {0, -0.5, 0.5}},
                 .flops = 3,
                 // Sampled: runtimes compute float64 in the attributes' float32.
                 .types = DTypes{DType::float32} | kIntegers,
                 .attributes = {real_attribute("bias", 0), real_attribute("lambd", 0.5)},
                 .sample_attributes =
                     [](Random& random, Sample& sample) {
                       if (random.chance(0.3)) return;
                       const bool whole = sample.inputs[0].type->dtype != DType::float32;
                       const double lambd = random.uniform(0, 2);
                       const double bias = random.uniform(0, lambd);
                       sample.attribute("lambd", whole ? std::ceil(lambd) : lambd);
                       sample.attribute("bias", whole ? std::floor(bias) : bias);
                     },
                 .draw = draw_near_thresholds([](const Call& call) -> std::vector<double> {
                   return {-call.real("lambd"), call.real("lambd")};
                 })});
  op.inputs[0].types = DTypes{DType::float32, DType::float64, DType::float16} | kIntegers;
  return op;
}

Op hard_swish() {
  return unary({.name = "HardSwish",
                .meaning = "x times x / 6 + 0.5 cut to the range 0 to 1",
                .since = 14,
                .f = [](double x) { return x * cut_to_one(x / 6 + 0.5); },
                .slack =
                    [](const Call& call, double x, double y) {
                      constexpr Accuracy kProduct{.ulps = 2};
                      return std::fabs(x) * slack_of_ramp(1.0 / 6, 0.5, x, call.dtype(0)) +
                             kProduct.bound(y, call.dtype(0));
                    },
                .domain = line_without_ends({-3, 3, 0, -1.5}),
                .flops = 5});
}

Op selu() {
  return unary(
      {.name = "Selu",
       .meaning = "gamma * x where x is positive, gamma * alpha * (exp(x) - 1) elsewhere",
       .since = 6,
       .f_with_call = [](const Call& call,
                         double x) { return call.real("gamma") * (x > 0 ? x : call.real("alpha") * std::expm1(x)); },
       .slack =
           [](const Call& call, double x, double y) {
             if (x > 0) return kRounded.bound(y, call.dtype(0));
             return slack_of_exponential(call, call.real("gamma") * call.real("alpha"), y);
           },
       .domain = line_with_ends(kExponentialPoints),
       .attributes = {real_attribute("alpha", 1.67326319217681884765625),
                      real_attribute("gamma", 1.05070102214813232421875)},
       .sample_attributes =
           [](Random& random, Sample& sample) {
             if (random.chance(0.5)) return;
             sample.attribute("alpha", random.uniform(0.5, 3)).attribute("gamma", random.uniform(0.5, 2));
           }});
}

}  // namespace

std::vector<Op> activation() {
  return {
      celu(),
      unary({.name = "Elu",
             .meaning = "x where it is not negative, alpha * (exp(x) - 1) elsewhere",
             .since = 6,
             .f_with_call = [](const Call& call, double x) { return x >= 0 ? x : call.real("alpha") * std::expm1(x); },
             .slack = [](const Call& call, double x,
                         double y) { return x >= 0 ? 0 : slack_of_exponential(call, call.real("alpha"), y); },
             .domain = line_with_ends(kExponentialPoints),
             .attributes = {real_attribute("alpha", 1)},
             .sample_attributes = sample_real("alpha", 0.05, 3)}),
      unary(
          {.name = "Gelu",
           .meaning = "x times the normal distribution's share below x, exactly or through a tanh",
           .since = 20,
           .f_with_call = gelu,
           .slack = slack_of_gated,
           .domain = line_without_ends({0, -1, 1, -4, -5.5, 5.5, -10, -14}),
           .flops = 4 + kFunctionFlops,
           .attributes =
               {{.name = "approximate", .kind = AttributeKind::text, .fallback = "none", .choices = {"none", "tanh"}}},
           .sample_attributes =
               [](Random& random, Sample& sample) {
                 // Runtimes take the formula's constants in float32, for float64 too.
                 const bool is_float32 = sample.inputs[0].type->dtype == DType::float32;
                 if (is_float32 && random.chance(0.5)) sample.attribute("approximate", std::string("tanh"));
               }}),
      hard_sigmoid(),
      hard_swish(),
      unary(
          {.name = "LeakyRelu",
           .meaning = "x where it is not negative, alpha * x elsewhere",
           .since = 6,
           .f_with_call = [](const Call& call, double x) { return x >= 0 ? x : call.real("alpha") * x; },
           .slack = [](const Call& call, double x, double y) { return x >= 0 ? 0 : kRounded.bound(y, call.dtype(0)); },
           .domain = line_with_ends({0}),
           .flops = 2,
           .attributes = {real_attribute("alpha", 0.01)},
           .sample_attributes = sample_real("alpha", 0.01, 2)}),
      unary({.name = "Mish",
             .meaning = "x * tanh(log(1 + exp(x)))",
             .since = 18,
             .f = [](double x) { return x * std::tanh(softplus(x)); },
             .slack = slack_of_gated,
             .domain = line_without_ends(kExponentialPoints),
             .flops = 1 + 3 * kFunctionFlops}),
      prelu(),
      unary({.name = "Relu",
             .meaning = "x where it is positive, 0 elsewhere",
             .since = 14,
             .f = [](double x) { return x > 0 ? x : 0; },
             .integer = [](const Call&, std::int64_t x) { return std::max<std::int64_t>(x, 0); },
             .accuracy = kExact,
             .domain = line_with_ends({0}),
             .flops = 1,
             .types = kFloats | kSignedIntegers}),
      selu(),
      shrink(),
      unary({.name = "Sigmoid",
             .meaning = "1 / (1 + exp(-x))",
             .since = 6,
             .f = sigmoid,
             .accuracy = kFunctionAroundOne,
             .domain = line_with_ends(kExponentialPoints),
             .flops = 2 + kFunctionFlops}),
      unary({.name = "Softplus",
             .meaning = "log(1 + exp(x))",
             .since = 1,
             .f = softplus,
             .accuracy = kFunctionAroundOne,
             .domain = line_with_ends(kExponentialPoints),
             .flops = 1 + 2 * kFunctionFlops}),
      unary({.name = "Softsign",
             .meaning = "x / (1 + |x|)",
             .since = 1,
             .f = [](double x) { return x / (1 + std::fabs(x)); },
             .accuracy = {.ulps = 4},
             .domain = line_without_ends({0, -1, 1}),
             .flops = 3}),
      unary({.name = "Swish",
             .meaning = "x / (1 + exp(-alpha * x))",
             .since = 24,
             .f_with_call = [](const Call& call, double x) { return x * sigmoid(call.real("alpha") * x); },
             .slack = slack_of_gated,
             .domain = line_without_ends(kExponentialPoints),
             .flops = 3 + kFunctionFlops,
             .attributes = {real_attribute("alpha", 1)},
             .sample_attributes = sample_real("alpha", 0.3, 2)}),
      unary(
          {.name = "ThresholdedRelu",
           .meaning = "x where it is above alpha, 0 elsewhere",
           .since = 10,
           .f_with_call = [](const Call& call, double x) { return x > call.real("alpha") ? x : 0; },
           .accuracy = kExact,
           .domain = line_with_ends({0, 1}),
           .flops = 1,
           .attributes = {real_attribute("alpha", 1)},
           .sample_attributes = sample_real("alpha", -0.5, 1),
           .draw = draw_near_thresholds([](const Call& call) -> std::vector<double> { return {call.real("alpha")}; })}),
  };
}

}  // namespace kw::ops::families
