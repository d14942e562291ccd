// Sums, means, norms, extremes and their places along axes.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// The axes to reduce come as an input (from opset 18; ReduceSum from 13) or as an attribute; none given means all,
// unless noop_with_empty_axes says none.
Result<std::vector<int>> reduced_axes(const Call& call) {
  KW_TRY(const auto given, call.given_integers(1, "axes"));
  const Integers axes = given.value_or(Integers{});
  const int rank = call.shape(0).rank();
  if (axes.empty() && call.integer("noop_with_empty_axes") == 0) return all_axes(rank);
  return normal_axes(axes, rank);
}

Shape without(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (!reduced) result.append(shape[axis]);
    if (reduced && keep) result.append(1);
  }
  return result;
}

Result<Types> infer_reduction(const Call& call) {
  KW_TRY(const std::vector<int> axes, reduced_axes(call));
  return Types{{call.dtype(0), without(call.shape(0), axes, call.integer("keepdims") != 0)}};
}

// Calls step(out, in) for every input element in order, `out` being the result it goes into.
template <class Step>
void each_reduced(const Call& call, Step&& step) {
  const Shape kept = without(call.shape(0), *reduced_axes(call), true);
  BroadcastWalk(call.shape(0), {kept}).each([&](std::size_t in, const std::size_t* out) { step(out[0], in); });
}

// How many elements go into one result.
std::int64_t terms(const Call& call) {
  std::int64_t product = 1;
  for (int axis : *reduced_axes(call)) product *= call.shape(0)[axis];
  return product;
}

// A reduction that folds elements one by one: result = finish(fold of step over elements).
struct Reduction {
  std::string name;
  std::string meaning;
  double start = 0;
  double (*step)(double result, double x);
  double (*finish)(double folded, double terms) = [](double folded, double) { return folded; };
  // The bound: the term that an element adds to the sum, and the slack of the finished result from that of the sum.
  // Without them the reduction is exact (the extremes).
  double (*term)(double x) = nullptr;
  double (*slack)(double sum, double sum_slack, double result, double terms,
                  DType dtype) = [](double, double sum_slack, double, double, DType) { return sum_slack; };
  // Of integers; results wrap to the type.
  std::int64_t (*integer_start)(DType) = [](DType) -> std::int64_t { return 0; };
  std::int64_t (*integer_step)(std::int64_t, std::int64_t) = nullptr;
  std::int64_t (*integer_finish)(std::int64_t result, std::int64_t terms) = [](std::int64_t result, std::int64_t) {
    return result;
  };
  double flops = 1;
  Domain domain = {};
  DTypes types = kNumbers;
};

Status reduce_integers(const Reduction& spec, const Call& call, const WideTensor& x, WideTensor& y) {
  // Extremes are found among numbers that stand in the order of the type; taken twice, they are themselves again.
  const auto seen = [&](std::int64_t value) { return spec.term ? value : in_order(value, y.dtype); };
  std::ranges::fill(y.integers, seen(spec.integer_start(y.dtype)));
  each_reduced(call, [&](std::size_t out, std::size_t in) {
    y.integers[out] = wrap(spec.integer_step(y.integers[out], seen(x.integers[in])), y.dtype);
  });
  const std::int64_t n = terms(call);
  for (std::int64_t& result : y.integers) result = wrap(spec.integer_finish(seen(result), n), y.dtype);
  return {};
}

double square(double x) { return x * x; }

// A few terms that tower above the others: whoever adds one element after the other loses all that are less than half a
// unit in the last place of the sum, however many they are and always in one direction. Drawn sums (accuracy.h) know
// only errors that are as good as random.
constexpr double kTowering = 32;  // times the root mean square

// What may be lost so, of each result. `largest` and `squares`: of its terms.
std::vector<double> lost_beside_large(const Reduction& spec, const Call& call, const WideTensor& x,
                                      const std::vector<double>& sums, const std::vector<double>& largest,
                                      const std::vector<double>& squares) {
  std::vector<double> lost(sums.size());
  const auto n = static_cast<double>(terms(call));
  const auto towers = [&](std::size_t out) {
    if (!std::isfinite(sums[out])) return false;
    return largest[out] * largest[out] * n > square(kTowering) * squares[out];
  };
  bool any = false;
  for (std::size_t out = 0; out < sums.size(); ++out) any = any || towers(out);
  if (!any) return lost;
  const double unit = 2 * unit_roundoff(working_type(x.dtype));
  each_reduced(call, [&](std::size_t out, std::size_t in) {
    const double term = std::fabs(spec.term(x.reals[in]));
    if (towers(out) && term < unit * std::max(std::fabs(sums[out]), largest[out])) lost[out] += term;
  });
  return lost;
}

Status reduce_reals(const Reduction& spec, const Call& call, const WideTensor& x, WideTensor& y) {
  std::ranges::fill(y.reals, spec.start);
  std::vector<double> squares(spec.term ? y.reals.size() : 0), largest(squares);
  std::vector<double> carried(x.exact() ? 0 : y.reals.size());
  each_reduced(call, [&](std::size_t out, std::size_t in) {
    y.reals[out] = spec.step(y.reals[out], x.reals[in]);
    if (spec.term) {
      const double term = std::fabs(spec.term(x.reals[in]));
      squares[out] += square(term);
      largest[out] = std::max(largest[out], term);
    }
    if (!x.exact()) carried[out] += x.slack[in];
  });
  const std::int64_t n = terms(call);
  const bool exact = !spec.term && x.exact();
  std::vector<double> lost;
  if (spec.term) lost = lost_beside_large(spec, call, x, y.reals, largest, squares);
  if (!exact) y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    const double folded = y.reals[i];
    y.reals[i] = spec.finish(folded, static_cast<double>(n));
    if (exact) continue;
    const double sum_slack =
        (spec.term ? drawn_sum_bound(n, folded, squares[i], y.dtype) + lost[i] : 0) + (x.exact() ? 0 : carried[i]);
    y.slack[i] = spec.slack(folded, sum_slack, y.reals[i], static_cast<double>(n), y.dtype);
    if (spec.term) y.slack[i] += kRounded.bound(y.reals[i], y.dtype);
  }
  return {};
}

// log(sum(exp(x))) as everybody must compute it: with the largest element taken out first.
Status reduce_log_sum_exp(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  std::vector<double> largest(y.reals.size(), -INFINITY);
  std::vector<double> sum(y.reals.size(), 0);
  std::vector<double> input_slack(y.reals.size(), 0);
  each_reduced(call, [&](std::size_t o, std::size_t i) { largest[o] = std::max(largest[o], x.number(i)); });
  each_reduced(call, [&](std::size_t o, std::size_t i) {
    sum[o] += std::isinf(largest[o]) ? std::exp(x.number(i)) : std::exp(x.number(i) - largest[o]);
    input_slack[o] = std::max(input_slack[o], x.slack_at(i));
  });
  const std::int64_t n = terms(call);
  y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.reals[i] = std::log(sum[i]) + (std::isinf(largest[i]) ? 0 : largest[i]);
    // The relative error of the sum is the absolute error of its logarithm.
    y.slack[i] = sum_bound(n, 1, y.dtype) + kFunctionAroundOne.bound(y.reals[i], y.dtype) + input_slack[i];
  }
  return {};
}

Sample sample_reduction(Random& random, DTypes types, bool axes_are_input) {
  Sample sample;
  const Shape shape = sample_shape(random, 1, 4);
  sample.input(sample_type(random, types), shape);
  sample.attribute("keepdims", random.integer(0, 1));
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (random.chance(0.5)) axes.push_back(sample_axis(random, axis, shape.rank()));
  }
  if (axes.empty()) return sample;
  if (axes_are_input) {
    sample.constant(Tensor::of_integers(axes));
  } else {
    sample.attribute("axes", axes);
  }
  return sample;
}

Op reduction_op(const Reduction& spec, int since = 1) {
  Op op;
  op.name = spec.name;
  op.meaning = spec.meaning;
  op.since = since;
  op.attributes = {{.name = "axes", .kind = AttributeKind::integers},
                   {.name = "keepdims", .fallback = std::int64_t{1}},
                   {.name = "noop_with_empty_axes", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "data", .types = spec.types, .domain = spec.domain},
               {.name = "axes", .types = kInt64, .group = "", .optional = true, .constant = true}};
  op.outputs = {{"reduced"}};
  op.infer = infer_reduction;
  op.reference = [spec](const Call& call, WideInputs in, std::span<WideTensor> out) {
    return is_float(in[0]->dtype) ? reduce_reals(spec, call, *in[0], out[0])
                                  : reduce_integers(spec, call, *in[0], out[0]);
  };
  op.flops = [per_element = spec.flops](const Call& call) { return per_element * input_count(call); };
  op.sample = [types = spec.types, from_input = spec.name == "ReduceSum"](Random& random) {
    return sample_reduction(random, types, from_input);
  };
  return op;
}

// Integers whose sums of squares stay in range: what overflow gives is not defined.
void draw_small_integers(Tensor& tensor, std::int64_t most, Random& random) {
  const std::int64_t least = is_signed(tensor.dtype()) ? -most : 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set_integer(i, random.integer(least, most));
}

void draw_for_sum(const Call&, InputClass, Random& random, std::span<Tensor* const> inputs) {
  if (inputs[0] && !is_float(inputs[0]->dtype())) draw_small_integers(*inputs[0], 100, random);
}

// A product of many drawn numbers vanishes or overflows; magnitudes around 1, both signs, keep it in range.
void draw_for_product(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0]) return;
  if (!is_float(inputs[0]->dtype())) return draw_small_integers(*inputs[0], 1, random);
  const double width = 2.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(terms(call), 1)));
  for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
    const double spread = input_class == InputClass::ties ? std::round(random.normal()) : random.normal();
    inputs[0]->set_real(i, random.sign() * std::exp(width * spread));
  }
  if (input_class != InputClass::wide || inputs[0]->dtype() != DType::float32) return;
  // One factor of each product may have any size: the products of others lie within some powers of two around 1.
  constexpr double kFarFactor = 112;
  std::vector<bool> far(static_cast<std::size_t>(call.outputs[0].shape.count()), false);
  each_reduced(call, [&](std::size_t out, std::size_t in) {
    if (far[out] || !random.chance(2.0 / static_cast<double>(terms(call)))) return;
    far[out] = true;
    inputs[0]->set_real(static_cast<std::int64_t>(in),
                        random.sign() * std::exp2(random.uniform(-kFarFactor, kFarFactor)));
  });
}

// The place of the largest element along an axis, or of the smallest.
Op arg_op(std::string name, std::string meaning, bool largest) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.attributes = {{.name = "axis", .fallback = std::int64_t{0}},
                   {.name = "keepdims", .fallback = std::int64_t{1}},
                   {.name = "select_last_index", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "data", .types = kNumbers}};
  op.outputs = {{"reduced"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const int axis, normal_axis(call.integer("axis"), call.shape(0).rank()));
    if (call.shape(0)[axis] == 0) return fail("axis {} is empty: it has no extreme", axis);
    return Types{{DType::int64, without(call.shape(0), {axis}, call.integer("keepdims") != 0)}};
  };
  op.reference = [largest](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor& x = *in[0];
    const AxisView view(x.shape, *normal_axis(call.integer("axis"), x.shape.rank()));
    const bool last = call.integer("select_last_index") != 0;
    const auto better = [&](std::size_t a, std::size_t b) { return largest ? less(x, b, a) : less(x, a, b); };
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < view.length; ++k) {
          const std::size_t candidate = view.index(o, k, i);
          const std::size_t champion = view.index(o, best, i);
          if (better(candidate, champion) || (last && !better(champion, candidate))) best = k;
        }
        out[0].integers[static_cast<std::size_t>(o * view.inner + i)] = best;
      }
    }
    return {};
  };
  op.flops = input_count;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    Sample sample;
    sample.input(random.chance(0.8) ? DType::float32 : DType::int32, shape);
    sample.attribute("axis", random.integer(-shape.rank(), shape.rank() - 1));
    sample.attribute("keepdims", random.integer(0, 1));
    sample.attribute("select_last_index", random.integer(0, 1));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> reduction() {
  constexpr auto itself = [](double x) { return x; };
  constexpr auto add = [](double sum, double x) { return sum + x; };
  constexpr DTypes kWide = kFloats | kWideIntegers;
  std::vector<Op> ops = {
      reduction_op({.name = "ReduceSum",
                    .meaning = "the sum of the elements along the axes",
                    .step = add,
                    .term = itself,
                    .integer_step = plus,
                    .types = kWide},
                   13),
      reduction_op({.name = "ReduceMean",
                    .meaning = "the mean of the elements along the axes",
                    .step = add,
                    .finish = [](double sum, double n) { return sum / n; },
                    .term = itself,
                    .slack = [](double, double sum_slack, double, double n, DType) { return sum_slack / n; },
                    .integer_step = plus,
                    .integer_finish = [](std::int64_t sum, std::int64_t n) { return n == 0 ? 0 : sum / n; },
                    .types = kWide}),
      reduction_op({.name = "ReduceL1",
                    .meaning = "the sum of the magnitudes along the axes",
                    .step = [](double sum, double x) { return sum + std::fabs(x); },
                    .term = itself,
                    .integer_step = [](std::int64_t sum, std::int64_t x) { return plus(sum, x < 0 ? minus(0, x) : x); },
                    .flops = 2,
                    .types = kWide}),
      reduction_op({.name = "ReduceL2",
                    .meaning = "the root of the sum of the squares along the axes",
                    .step = [](double sum, double x) { return sum + x * x; },
                    .finish = [](double sum, double) { return std::sqrt(sum); },
                    .term = square,
                    .slack =
                        [](double sum, double sum_slack, double result, double, DType) {
                          // Half the relative error of the sum; at zero the root of the error itself.
                          return sum > 0 ? std::min(0.5 * sum_slack / sum * result * 1.01, std::sqrt(sum_slack))
                                         : std::sqrt(sum_slack);
                        },
                    .integer_step = [](std::int64_t sum, std::int64_t x) { return plus(sum, times(x, x)); },
                    .integer_finish =
                        [](std::int64_t sum, std::int64_t) {
                          return static_cast<std::int64_t>(std::sqrt(static_cast<double>(sum)));
                        },
                    .flops = 2,
                    .types = kWide}),
      reduction_op({.name = "ReduceSumSquare",
                    .meaning = "the sum of the squares along the axes",
                    .step = [](double sum, double x) { return sum + x * x; },
                    .term = square,
                    .integer_step = [](std::int64_t sum, std::int64_t x) { return plus(sum, times(x, x)); },
                    .flops = 2,
                    .types = kWide}),
      reduction_op({.name = "ReduceLogSum",
                    .meaning = "the logarithm of the sum along the axes",
                    .step = add,
                    .finish = [](double sum, double) { return std::log(sum); },
                    .term = itself,
                    .slack = [](double sum, double sum_slack, double result, double,
                                DType dtype) { return sum_slack / sum + kFunctionAroundOne.bound(result, dtype); },
                    .flops = 2,
                    .domain = {.low = 1e-3},
                    .types = kFloats}),
      reduction_op({.name = "ReduceMax",
                    .meaning = "the largest element along the axes",
                    .start = -INFINITY,
                    .step = [](double best, double x) { return std::max(best, x); },
                    .integer_start = lowest_integer,
                    .integer_step = [](std::int64_t best, std::int64_t x) { return std::max(best, x); },
                    .domain = {.infinities = true},
                    .types = kAnyType}),
      reduction_op({.name = "ReduceMin",
                    .meaning = "the smallest element along the axes",
                    .start = INFINITY,
                    .step = [](double best, double x) { return std::min(best, x); },
                    .integer_start = [](DType dtype) { return dtype == DType::uint64 ? -1 : highest_integer(dtype); },
                    .integer_step = [](std::int64_t best, std::int64_t x) { return std::min(best, x); },
                    .domain = {.infinities = true},
                    .types = kAnyType}),
      reduction_op(
          {.name = "ReduceProd",
           .meaning = "the product of the elements along the axes",
           .start = 1,
           .step = [](double product, double x) { return product * x; },
           .term = [](double) { return 1.0; },
           // Every factor adds its rounding to the relative error.
           .slack = [](double, double, double result, double n,
                       DType dtype) { return sum_bound(static_cast<std::int64_t>(n), std::fabs(result), dtype); },
           .integer_start = [](DType) -> std::int64_t { return 1; },
           .integer_step = times,
           .types = kWide}),
      arg_op("ArgMax", "the index of the largest element along an axis; of equal ones the first, or the last if asked",
             true),
      arg_op("ArgMin", "the index of the smallest element along an axis; of equal ones the first, or the last if asked",
             false),
  };
  for (Op& op : ops) {
    if (op.name == "ReduceProd") {
      op.draw = draw_for_product;
    } else if (op.name != "ReduceMax" && op.name != "ReduceMin" && op.name.starts_with("Reduce")) {
      op.draw = draw_for_sum;
    }
  }
  Op log_sum_exp =
      reduction_op({.name = "ReduceLogSumExp", .step = add, .flops = 2 + kFunctionFlops, .types = kFloats});
  log_sum_exp.meaning = "the logarithm of the sum of the exponentials along the axes";
  log_sum_exp.reference = reduce_log_sum_exp;
  ops.push_back(std::move(log_sum_exp));
  return ops;
}

}  // namespace kw::ops::families
