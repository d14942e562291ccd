// Running sums and products along an axis.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

constexpr DTypes kScanTypes = kFloats | kWideIntegers;

Result<int> scanned_axis(const Call& call) {
  KW_TRY(const std::int64_t axis, call.constant_integer(1));
  return normal_axis(axis, call.shape(0).rank());
}

// A running sum, with what may be lost in it.
struct Sum {
  double value = 0;
  double squares = 0;
  double carried = 0;
  std::int64_t terms = 0;

  void take(double x, double slack, DType) {
    value += x;
    squares += x * x;
    carried += slack;
    ++terms;
  }
  // One term alone is itself.
  double slack(DType dtype) const { return carried + (terms > 1 ? drawn_sum_bound(terms, value, squares, dtype) : 0); }

  static constexpr std::int64_t kNothing = 0;
  static std::int64_t joined(std::int64_t a, std::int64_t b) { return plus(a, b); }
};

// A running product, with what may be lost in it.
struct Product {
  double value = 1;
  double error = 0;
  bool started = false;

  void take(double x, double slack, DType dtype) {
    error = std::fabs(value) * slack + (std::fabs(x) + slack) * error;
    value *= x;
    if (started) error += kRounded.bound(value, dtype);
    started = true;
  }
  double slack(DType) const { return error; }

  static constexpr std::int64_t kNothing = 1;
  static std::int64_t joined(std::int64_t a, std::int64_t b) { return times(a, b); }
};

// Goes along every lane in the direction of the scan with a running value: take(running, at) joins an element to it,
// write(running, at) writes the result there.
template <class Running, class Take, class Write>
void scan_lanes(const Call& call, const Running& start, Take&& take, Write&& write) {
  const AxisView view(call.shape(0), *scanned_axis(call));
  const bool exclusive = call.integer("exclusive") != 0;
  const bool reverse = call.integer("reverse") != 0;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      Running running = start;
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::size_t at = view.index(o, reverse ? view.length - 1 - k : k, i);
        if (exclusive) write(running, at);
        take(running, at);
        if (!exclusive) write(running, at);
      }
    }
  }
}

template <class Running>
Status scan_elements(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  if (is_float(x.dtype)) {
    y.add_slack();
    scan_lanes(
        call, Running{}, [&](Running& running, std::size_t at) { running.take(x.reals[at], x.slack_at(at), y.dtype); },
        [&](const Running& running, std::size_t at) {
          y.reals[at] = running.value;
          y.slack[at] = running.slack(y.dtype);
        });
  } else {
    scan_lanes(
        call, Running::kNothing,
        [&](std::int64_t& running, std::size_t at) { running = Running::joined(running, x.integers[at]); },
        [&](std::int64_t running, std::size_t at) { y.integers[at] = wrap(running, y.dtype); });
  }
  return {};
}

template <class Running>
Op scan_op(std::string name, std::string meaning, int since) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.attributes = {{.name = "exclusive", .fallback = std::int64_t{0}},
                   {.name = "reverse", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "x", .types = kScanTypes}, {.name = "axis", .types = kIndex, .group = "", .constant = true}};
  op.outputs = {{"y"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(scanned_axis(call));
    return Types{*call.inputs[0]};
  };
  op.reference = scan_elements<Running>;
  op.flops = input_count;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    Tensor axis(DType::int64, Shape{});
    axis.set_integer(0, random.integer(-shape.rank(), shape.rank() - 1));
    return Sample()
        .input(sample_type(random, kScanTypes), shape)
        .constant(std::move(axis))
        .attribute("exclusive", random.integer(0, 1))
        .attribute("reverse", random.integer(0, 1));
  };
  return op;
}

// The products of others lie within some powers of two around 1.
constexpr double kFarFactor = 112;

// A running product of drawn numbers vanishes or overflows; magnitudes around 1, both signs, keep it in range.
void draw_factors(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0] || !is_float(inputs[0]->dtype())) return;
  const std::int64_t length = call.shape(0)[*scanned_axis(call)];
  const double width = 2.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1)));
  for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
    const double spread = input_class == InputClass::ties ? std::round(random.normal()) : random.normal();
    inputs[0]->set_real(i, random.sign() * std::exp(width * spread));
  }
  if (input_class != InputClass::wide || inputs[0]->dtype() != DType::float32) return;
  // One factor of each product may have any size.
  const AxisView view(call.shape(0), *scanned_axis(call));
  for (std::int64_t o = 0; o < view.outer && view.length > 0; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const auto at = static_cast<std::int64_t>(view.index(o, random.integer(0, view.length - 1), i));
      inputs[0]->set_real(at, random.sign() * std::exp2(random.uniform(-kFarFactor, kFarFactor)));
    }
  }
}

}  // namespace

std::vector<Op> scan() {
  std::vector<Op> ops = {
      scan_op<Sum>("CumSum", "running sums along an axis; `exclusive` leaves each element itself out", 14),
      scan_op<Product>("CumProd", "running products along an axis; `exclusive` leaves each element itself out", 26)};
  ops[1].draw = draw_factors;
  return ops;
}

}  // namespace kw::ops::families
