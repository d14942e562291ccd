#include "ops/elementwise.h"

#include <algorithm>

#include "ops/walk.h"

namespace kw::ops {
namespace {

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

// How far f moves when its input moves within the slack.
double moved(double result, double at_low, double at_high) {
  return std::max(distance(result, at_low), distance(result, at_high));
}

// Poles lie at zero, where the ends of the slack do not show them: a sum of tiny squares may be zero in float.
bool may_be_zero(double number, double slack) { return number != 0 && std::fabs(number) <= slack; }

}  // namespace

Op unary(Unary spec) {
  Op op;
  op.name = spec.name;
  op.meaning = spec.meaning;
  op.since = spec.since;
  op.attributes = spec.attributes;
  op.inputs = {{.name = "X", .types = spec.types, .domain = spec.domain}};
  op.infer = [](const Call& call) -> Result<Types> { return Types{{call.dtype(0), call.shape(0)}}; };
  if (!spec.f_with_call) {
    spec.f_with_call = [f = spec.f](const Call&, double x) { return f(x); };
  }
  op.reference = [spec](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor& x = *in[0];
    WideTensor& y = out[0];
    if (!is_float(x.dtype)) {
      for (std::size_t i = 0; i < x.integers.size(); ++i)
        y.integers[i] = wrap(spec.integer(call, x.integers[i]), y.dtype);
      return {};
    }
    for (std::size_t i = 0; i < x.reals.size(); ++i) y.reals[i] = spec.f_with_call(call, x.reals[i]);
    // An operator before this one may have made NaN of infinities.
    const auto says_nothing_of = [&](double number) { return !spec.domain.nans && std::isnan(number); };
    if (!spec.slack && spec.accuracy.exact() && x.exact() && std::ranges::none_of(x.reals, says_nothing_of)) return {};
    y.add_slack();
    for (std::size_t i = 0; i < x.reals.size(); ++i) {
      const double result = y.reals[i];
      if (says_nothing_of(x.reals[i])) {
        y.slack[i] = std::numeric_limits<double>::infinity();
        continue;
      }
      if (std::isfinite(result)) {
        y.slack[i] = spec.slack ? spec.slack(call, x.reals[i], result) : spec.accuracy.bound(result, y.dtype);
      }
      if (const double e = x.slack_at(i); e > 0) {
        y.slack[i] += moved(result, spec.f_with_call(call, x.reals[i] - e), spec.f_with_call(call, x.reals[i] + e));
        if (may_be_zero(x.reals[i], e)) y.slack[i] += distance(result, spec.f_with_call(call, 0));
      }
    }
    return {};
  };
  op.flops = [per_element = spec.flops](const Call& call) { return per_element * output_count(call); };
  op.draw = spec.draw;
  op.sample = [types = spec.types, more = spec.sample_attributes](Random& random) {
    Sample sample;
    sample.input(sample_type(random, types), sample_shape(random, 0, 4, true));
    if (more) more(random, sample);
    return sample;
  };
  return op;
}

Op binary(Binary spec) {
  Op op;
  op.name = spec.name;
  op.meaning = spec.meaning;
  op.since = spec.since;
  op.attributes = spec.attributes;
  op.inputs = {{.name = "A", .types = spec.types, .domain = spec.left},
               {.name = "B", .types = spec.types, .domain = spec.right}};
  op.outputs = {{"C"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(Shape shape, broadcast(call.shape(0), call.shape(1)));
    return Types{{call.dtype(0), std::move(shape)}};
  };
  op.reference = [spec](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor& a = *in[0];
    const WideTensor& b = *in[1];
    WideTensor& c = out[0];
    const BroadcastWalk walk(c.shape, {a.shape, b.shape});
    if (!is_float(a.dtype)) {
      walk.each([&](std::size_t i, const std::size_t* at) {
        c.integers[i] = wrap(spec.integer(call, a.integers[at[0]], b.integers[at[1]]), c.dtype);
      });
      return {};
    }
    const bool inputs_exact = a.exact() && b.exact();
    if (spec.slack || !spec.accuracy.exact() || !inputs_exact) c.add_slack();
    walk.each([&](std::size_t i, const std::size_t* at) {
      const double x = a.reals[at[0]];
      const double y = b.reals[at[1]];
      const double z = spec.f(call, x, y);
      c.reals[i] = z;
      if (c.exact()) return;
      if (std::isfinite(z)) c.slack[i] = spec.slack ? spec.slack(call, x, y, z) : spec.accuracy.bound(z, c.dtype);
      if (inputs_exact) return;
      const double dx = a.slack_at(at[0]);
      const double dy = b.slack_at(at[1]);
      if (dx == 0 && dy == 0) return;
      c.slack[i] += std::max(moved(z, spec.f(call, x - dx, y - dy), spec.f(call, x + dx, y + dy)),
                             moved(z, spec.f(call, x - dx, y + dy), spec.f(call, x + dx, y - dy)));
      if (may_be_zero(y, dy)) c.slack[i] += distance(z, spec.f(call, x, 0));
    });
    return {};
  };
  op.flops = [per_element = spec.flops](const Call& call) { return per_element * output_count(call); };
  op.draw = spec.draw;
  op.sample = [types = spec.types, more = spec.sample_attributes](Random& random) {
    Sample sample;
    const DType type = sample_type(random, types);
    const Shape shape = sample_shape(random, 0, 4, true);
    Shape whole = random.chance(0.2) ? sample_broadcast(random, shape) : shape;
    Shape other = random.chance(0.3) ? shape : sample_broadcast(random, shape);
    if (random.chance(0.5)) std::swap(whole, other);
    sample.input(type, std::move(whole)).input(type, std::move(other));
    if (more) more(random, sample);
    return sample;
  };
  return op;
}

Op predicate(Predicate spec) {
  Op op =
      binary({.name = spec.name, .meaning = spec.meaning, .since = spec.since, .types = spec.types, .draw = spec.draw});
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(Shape shape, broadcast(call.shape(0), call.shape(1)));
    return Types{{DType::boolean, std::move(shape)}};
  };
  op.reference = [spec](const Call&, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor& a = *in[0];
    const WideTensor& b = *in[1];
    BroadcastWalk(out[0].shape, {a.shape, b.shape}).each([&](std::size_t i, const std::size_t* at) {
      out[0].integers[i] =
          is_float(a.dtype) ? spec.real(a.reals[at[0]], b.reals[at[1]])
                            : spec.integer(in_order(a.integers[at[0]], a.dtype), in_order(b.integers[at[1]], a.dtype));
    });
    return {};
  };
  return op;
}

void draw_near(Tensor& tensor, std::span<const double> points, InputClass input_class, Random& random) {
  if (points.empty() || (input_class != InputClass::edges && input_class != InputClass::ties)) return;
  // Float16 and bfloat16 may not hold a point: on which side of it the nearest number lies does not matter.
  if (tensor.dtype() == DType::float16 || tensor.dtype() == DType::bfloat16) return;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (!random.chance(0.4)) continue;
    const double point = random.pick(points);
    if (!std::isfinite(point)) continue;
    const auto steps = static_cast<double>(random.integer(-1, 1));
    if (is_float(tensor.dtype())) {
      tensor.set_real(i, point + steps * 2 * unit_roundoff(tensor.dtype()) * std::fabs(point));
    } else {
      tensor.set_integer(i, static_cast<std::int64_t>(std::clamp(std::floor(point), -1e9, 1e9) + steps));
    }
  }
}

Shape sample_shape(Random& random, int least_rank, int most_rank, bool may_be_empty) {
  const auto rank = static_cast<int>(random.integer(least_rank, most_rank));
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.append(random.pick({1, 2, 3, 4, 5, 7, 8, 11, 16, 17}));
  while (shape.count() > 4096) {
    for (int axis = 0; axis < rank; ++axis) shape[axis] = (shape[axis] + 1) / 2;
  }
  if (may_be_empty && rank > 0 && random.chance(0.05)) shape[static_cast<int>(random.integer(0, rank - 1))] = 0;
  return shape;
}

Shape sample_broadcast(Random& random, const Shape& shape) {
  const auto drop = static_cast<int>(random.chance(0.5) ? 0 : random.integer(0, shape.rank()));
  Shape other;
  for (int axis = drop; axis < shape.rank(); ++axis) other.append(random.chance(0.3) ? 1 : shape[axis]);
  return other;
}

std::int64_t sample_axis(Random& random, int axis, int rank) { return random.chance(0.3) ? axis - rank : axis; }

DType sample_type(Random& random, DTypes types) {
  if (types.has(DType::float32) && random.chance(0.7)) return DType::float32;
  std::vector<DType> usual;
  for (DType type : {DType::float32, DType::int32, DType::int64, DType::float64, DType::boolean, DType::uint8}) {
    if (types.has(type)) usual.push_back(type);
  }
  return usual.empty() ? types.list().front() : random.pick(usual);
}

}  // namespace kw::ops
