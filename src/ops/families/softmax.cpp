// Softmax, its logarithm, and the one-hot maximum.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// From opset 13 on one axis. Before, all axes from `axis` on count as one long axis.
Result<AxisView> row_view(const Call& call) {
  const Shape& shape = call.shape(0);
  const bool flattens = call.opset < 13;
  const std::int64_t given = call.attributes.has("axis") ? call.integer("axis") : flattens ? 1 : -1;
  // Flattening may begin behind the last axis: rows of one element.
  if (flattens && given == shape.rank()) return AxisView(Shape{shape.count(), 1}, 1);
  KW_TRY(const int axis, normal_axis(given, shape.rank()));
  if (!flattens) return AxisView(shape, axis);
  return AxisView(Shape{shape.count(0, axis), shape.count(axis, shape.rank())}, 1);
}

// Calls f(row) for every row; row(k) is the flat index of its element k.
template <class F>
void each_row(const AxisView& view, F&& f) {
  if (view.length == 0) return;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) f([&](std::int64_t k) { return view.index(o, k, i); });
  }
}

// What both functions need of a row.
struct Row {
  double largest = -INFINITY;
  double sum = 0;            // of exp(x - largest)
  double largest_slack = 0;  // of the inputs
};

template <class Index>
Row row_of(const WideTensor& x, std::int64_t length, Index&& index) {
  Row row;
  for (std::int64_t k = 0; k < length; ++k) {
    row.largest = std::max(row.largest, x.reals[index(k)]);
    row.largest_slack = std::max(row.largest_slack, x.slack_at(index(k)));
  }
  for (std::int64_t k = 0; k < length; ++k) row.sum += std::exp(x.reals[index(k)] - row.largest);
  return row;
}

// Exponentials and their sum are right to this, relatively: the roundings of the sum, and those of a few functions (a
// running maximum rescales the sum now and then).
double sum_accuracy(std::int64_t length, DType dtype) {
  return sum_bound(length, 1, dtype) + 64 * unit_roundoff(dtype);
}

Status softmax_of(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const AxisView view = *row_view(call);
  const DType working = working_type(x.dtype);
  const double accuracy = sum_accuracy(view.length, working);
  y.add_slack();
  each_row(view, [&](auto index) {
    const Row row = row_of(x, view.length, index);
    for (std::int64_t k = 0; k < view.length; ++k) {
      const std::size_t i = index(k);
      const double exponent = x.reals[i] - row.largest;
      y.reals[i] = std::exp(exponent) / row.sum;
      y.slack[i] = smallest_normal(y.dtype);
      if (y.reals[i] == 0) continue;
      // The rounding of x - largest, and the slack of the inputs, are relative errors of the exponential.
      y.slack[i] += y.reals[i] * (accuracy + std::fabs(exponent) * 2 * unit_roundoff(working) +
                                  std::expm1(x.slack_at(i) + row.largest_slack));
      if (y.dtype != working) y.slack[i] += kRounded.bound(y.reals[i], y.dtype);
    }
  });
  return {};
}

Status log_softmax_of(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const AxisView view = *row_view(call);
  const DType working = working_type(x.dtype);
  const double accuracy = sum_accuracy(view.length, working);
  const double u = unit_roundoff(working);
  y.add_slack();
  each_row(view, [&](auto index) {
    const Row row = row_of(x, view.length, index);
    const double log_sum = std::log(row.sum);
    for (std::int64_t k = 0; k < view.length; ++k) {
      const std::size_t i = index(k);
      y.reals[i] = x.reals[i] - row.largest - log_sum;
      // (x - largest) - log(sum) and x - (largest + log(sum)) are both honest. The relative error of the sum is the
      // absolute error of its logarithm.
      const double passed_through = std::fabs(x.reals[i]) + 2 * std::fabs(row.largest) + std::fabs(y.reals[i]);
      y.slack[i] = accuracy + 2 * u * passed_through + 16 * u * log_sum + x.slack_at(i) + row.largest_slack;
      if (y.dtype != working) y.slack[i] += kRounded.bound(y.reals[i], y.dtype);
    }
  });
  return {};
}

// 1 at the first maximum of each row. Where the inputs' slack leaves the winner open, any of them may have the 1.
Status hardmax_of(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const AxisView view = *row_view(call);
  if (!x.exact()) y.add_slack();
  each_row(view, [&](auto index) {
    std::size_t best = index(0);
    for (std::int64_t k = 1; k < view.length; ++k) {
      if (x.reals[index(k)] > x.reals[best]) best = index(k);
    }
    y.reals[best] = 1;
    if (x.exact()) return;
    for (std::int64_t k = 0; k < view.length; ++k) {
      const std::size_t i = index(k);
      if (i == best || x.reals[i] + x.slack[i] < x.reals[best] - x.slack[best]) continue;
      y.slack[i] = y.slack[best] = 1;
    }
  });
  return {};
}

// Now and then whole rows are far from zero, or their ends are the two largest.
void draw_rows(const AxisView& view, Random& random, Tensor& x) {
  constexpr double kShare = 0.4;
  if (!random.chance(kShare)) return;
  const bool shifted = random.chance(0.5);
  each_row(view, [&](auto index) {
    const auto at = [&](std::int64_t k) { return static_cast<std::int64_t>(index(k)); };
    const double shift = random.sign() * std::exp2(random.uniform(5, 9));
    double most = -INFINITY;
    for (std::int64_t k = 0; k < view.length; ++k) {
      if (shifted) x.set_real(at(k), x.real(at(k)) + shift);
      most = std::max(most, x.real(at(k)));
    }
    if (shifted || view.length == 0) return;
    x.set_real(at(0), most + 1);
    x.set_real(at(view.length - 1), most + 1);
  });
}

// A mask's -infinity, or the large negative number that programs take for it, gives exactly 0. The first element of
// each row stays as it is: some elements are hidden, all from one on as attention does, or all others.
void draw_masked(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (input_class == InputClass::edges && inputs[0]) return draw_rows(*row_view(call), random, *inputs[0]);
  if (input_class != InputClass::special || !inputs[0]) return;
  const AxisView view = *row_view(call);
  const double hidden = random.pick<double>({-INFINITY, -INFINITY, -1e9, -1e4, -largest_finite(DType::float32)});
  constexpr double kSome = 0.3, kAllButOne = 0.4;  // up to here; beyond, all from one element on
  const double kind = random.unit();
  each_row(view, [&](auto index) {
    const std::int64_t left = kind < kSome ? view.length : kind < kAllButOne ? 1 : random.integer(1, view.length);
    for (std::int64_t k = 1; k < view.length; ++k) {
      if (k < left && !(kind < kSome && random.chance(0.1))) continue;
      inputs[0]->set_real(static_cast<std::int64_t>(index(k)), hidden);
    }
  });
}

Op row_op(std::string name, std::string meaning, Status (*reference)(const Call&, WideInputs, std::span<WideTensor>),
          double flops) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 13;
  op.attributes = {{.name = "axis"}};  // the default depends on the opset
  op.inputs = {{.name = "input"}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(row_view(call));
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = reference;
  op.flops = [flops](const Call& call) { return flops * input_count(call); };
  op.sample = [](Random& random) {
    Sample sample;
    Shape shape = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
    if (shape[axis] == 1) shape[axis] = 5;  // a row of one has one answer whatever it holds
    sample.input(DType::float32, shape);
    if (axis != shape.rank() - 1 || random.chance(0.8)) {
      sample.attribute("axis", std::int64_t{random.chance(0.5) ? axis : axis - shape.rank()});
    }
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> softmax() {
  std::vector<Op> ops = {
      row_op("Softmax", "the exponentials along an axis, divided by their sum", softmax_of, kFunctionFlops + 4),
      row_op("LogSoftmax", "the logarithm of the softmax along an axis", log_softmax_of, kFunctionFlops + 4),
      row_op("Hardmax", "1 at the first maximum along an axis, 0 elsewhere", hardmax_of, 1),
  };
  ops[0].draw = draw_masked;
  return ops;
}

}  // namespace kw::ops::families
