// Divisions by a norm: of a whole axis, or of the neighbouring channels.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// The norm of one row with its possible error.
struct Norm {
  double value = 0;
  double slack = 0;
};

Norm norm_of(double sum, double carried, std::int64_t terms, std::int64_t p, DType working) {
  const double sum_slack = sum_bound(terms, sum, working) + carried;
  if (p == 1) return {sum, sum_slack};
  // Squares that leave the normal range leave nothing to divide by; a row of zeros is exact.
  if (sum > 0 && sum < smallest_normal(working) / unit_roundoff(working)) return {std::sqrt(sum), INFINITY};
  const double root = std::sqrt(sum);
  if (root == 0) return {0, std::sqrt(carried)};
  return {root, sum_slack < sum / 2 ? 0.6 * sum_slack / root : INFINITY};
}

Status lp_normalize(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const std::int64_t p = call.integer("p");
  const AxisView view(x.shape, *normal_axis(call.integer("axis"), x.shape.rank()));
  const DType working = working_type(x.dtype);
  y.add_slack();
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      double sum = 0;
      double carried = 0;
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::size_t at = view.index(o, k, i);
        const double size = std::fabs(x.reals[at]);
        const double slack = x.slack_at(at);
        sum += p == 1 ? size : size * size;
        carried += p == 1 ? slack : slack * (2 * size + slack);
      }
      const Norm norm = norm_of(sum, carried, view.length, p, working);
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::size_t at = view.index(o, k, i);
        if (norm.value > 0) y.reals[at] = x.reals[at] / norm.value;
        if (norm.value == 0 || std::isinf(norm.slack)) {
          y.slack[at] = norm.slack > 0 ? INFINITY : 0;
          continue;
        }
        y.slack[at] = (std::fabs(y.reals[at]) * norm.slack + x.slack_at(at)) / norm.value +
                      Accuracy{.ulps = 4, .flushes = true}.bound(y.reals[at], y.dtype);
      }
    }
  }
  return {};
}

Op lp_normalization() {
  Op op;
  op.name = "LpNormalization";
  op.meaning = "the elements along an axis divided by their L1 or L2 norm; zeros stay zeros";
  op.attributes = {{.name = "axis", .fallback = std::int64_t{-1}}, {.name = "p", .fallback = std::int64_t{2}}};
  op.inputs = {{.name = "input"}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const std::int64_t p = call.integer("p");
    if (p != 1 && p != 2) return fail("p must be 1 or 2, but is {}", p);
    KW_CHECK(normal_axis(call.integer("axis"), call.shape(0).rank()));
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = lp_normalize;
  op.flops = [](const Call& call) { return 3 * input_count(call); };
  // Rows of zeros, which must not become NaN.
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (input_class != InputClass::ties || !inputs[0]) return;
    const AxisView view(call.shape(0), *normal_axis(call.integer("axis"), call.shape(0).rank()));
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        if (!random.chance(0.3)) continue;
        for (std::int64_t k = 0; k < view.length; ++k) {
          inputs[0]->set_real(static_cast<std::int64_t>(view.index(o, k, i)), 0);
        }
      }
    }
  };
  op.sample = [](Random& random) {
    Sample sample;
    const Shape shape = sample_shape(random, 1, 4);
    sample.input(random.chance(0.9) ? DType::float32 : DType::float64, shape);
    if (random.chance(0.8)) sample.attribute("axis", random.integer(-shape.rank(), shape.rank() - 1));
    if (random.chance(0.7)) sample.attribute("p", random.integer(1, 2));
    return sample;
  };
  return op;
}

// y = x / (bias + alpha / size * sum of the neighbours' squares) ^ beta
Status normalize_locally(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const AxisView view(x.shape, 1);
  const std::int64_t size = call.integer("size");
  const double weight = call.real("alpha") / static_cast<double>(size);
  const double bias = call.real("bias");
  const double beta = call.real("beta");
  const DType working = working_type(x.dtype);
  const double u = unit_roundoff(working);
  y.add_slack();
  for (std::int64_t o = 0; o < view.outer; ++o) {
    // A sum that slides over the channels is honest too: it keeps the rounding of every square that has gone by.
    std::vector<double> gone_by(static_cast<std::size_t>(view.inner), 0.0);
    for (std::int64_t c = 0; c < view.length; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
      const std::int64_t last = std::min(view.length - 1, c + size / 2);  // size / 2 is ceil((size - 1) / 2)
      for (std::int64_t i = 0; i < view.inner; ++i) {
        double squares = 0;
        double carried = 0;
        for (std::int64_t k = first; k <= last; ++k) {
          const std::size_t neighbour = view.index(o, k, i);
          const double slack = x.slack_at(neighbour);
          squares += x.reals[neighbour] * x.reals[neighbour];
          carried += slack * (2 * std::fabs(x.reals[neighbour]) + slack);
        }
        const std::size_t at = view.index(o, c, i);
        double& passed = gone_by[static_cast<std::size_t>(i)];
        passed += x.reals[at] * x.reals[at];
        const double base = bias + weight * squares;
        const double base_slack = std::fabs(weight) * (sum_bound(2 * size, squares + passed, working) + carried) +
                                  4 * u * (std::fabs(bias) + std::fabs(weight) * squares);
        const double power = std::pow(base, -beta);
        y.reals[at] = x.reals[at] * power;
        // The power as exp(-beta * log(base)): the product's rounding is a relative error of the result.
        const double relative = std::fabs(beta) * base_slack / std::fabs(base) +
                                u * (32 + 16 * std::fabs(beta * std::log(std::fabs(base))));
        y.slack[at] = std::fabs(y.reals[at]) * relative + x.slack_at(at) * std::fabs(power) +
                      kFunction.bound(y.reals[at], y.dtype);
      }
    }
  }
  return {};
}

Op local_response_normalization() {
  Op op;
  op.name = "LRN";
  op.meaning = "every element divided by a power of the sum of squares in the channels around it";
  op.since = 13;
  op.attributes = {{.name = "alpha", .kind = AttributeKind::real, .fallback = 1e-4},
                   {.name = "beta", .kind = AttributeKind::real, .fallback = 0.75},
                   {.name = "bias", .kind = AttributeKind::real, .fallback = 1.0},
                   {.name = "size", .required = true}};
  op.inputs = {{.name = "X"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& shape = call.shape(0);
    if (shape.rank() < 2) return fail("X must have a batch and a channel axis, but has shape {}", shape.text());
    const std::int64_t size = call.integer("size");
    if (size < 1 || size > 0x7FFFFFFF) return fail("size must be at least 1 and below 2^31, but is {}", size);
    if (call.real("bias") <= 0 || call.real("alpha") < 0) {
      return fail("bias must be positive and alpha not negative: the power has a base above 0");
    }
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = normalize_locally;
  op.flops = [](const Call& call) {
    const auto size = static_cast<double>(std::min(call.integer("size"), call.shape(0)[1]));
    return (2 * size + 2 * kFunctionFlops + 3) * input_count(call);
  };
  op.sample = [](Random& random) {
    Sample sample;
    Shape shape{random.integer(1, 2), random.pick({1, 3, 6, 11, 16}), random.integer(1, 7), random.integer(1, 7)};
    sample.input(DType::float32, std::move(shape));
    sample.attribute("size", random.pick<std::int64_t>({1, 3, 5, 7}));
    if (random.chance(0.6)) {
      sample.attribute("alpha", random.pick({1e-4, 0.02, 0.5})).attribute("beta", random.pick({0.5, 0.75, 1.0}));
      sample.attribute("bias", random.pick({1.0, 2.0}));
    }
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> norms() { return {lp_normalization(), local_response_normalization()}; }

}  // namespace kw::ops::families
