// Operators that pick elements by their values: the largest, the distinct, the nonzero, the marked.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// --- TopK ---

Result<std::int64_t> wanted_count(const Call& call) {
  if (call.has(1)) return call.constant_integer(1);
  if (!call.attributes.has("k")) return fail("no k is given");
  return call.integer("k");
}

Result<Types> infer_top_k(const Call& call) {
  Shape shape = call.shape(0);
  KW_TRY(const int axis, normal_axis(call.integer("axis"), shape.rank()));
  KW_TRY(const std::int64_t k, wanted_count(call));
  if (k < 0 || k > shape[axis]) return fail("k is {}, but axis {} has {} elements", k, axis, shape[axis]);
  shape[axis] = k;
  return Types{{call.dtype(0), shape}, {DType::int64, shape}};
}

Status find_top_k(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const int axis = *normal_axis(call.integer("axis"), x.shape.rank());
  const bool largest = call.integer("largest") != 0;
  const AxisView from(x.shape, axis);
  const AxisView to(out[0].shape, axis);
  std::vector<std::int64_t> order(size_of(from.length));
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t i = 0; i < from.inner; ++i) {
      std::iota(order.begin(), order.end(), 0);
      std::ranges::partial_sort(order, order.begin() + to.length, [&](std::int64_t a, std::int64_t b) {
        const std::size_t at_a = from.index(o, a, i);
        const std::size_t at_b = from.index(o, b, i);
        if (less(x, at_a, at_b)) return !largest;
        if (less(x, at_b, at_a)) return largest;
        return a < b;
      });
      // Elements that move change places, but no place's value moves further than the element that moves most.
      double slack = 0;
      for (std::int64_t k = 0; k < from.length; ++k) slack = std::max(slack, x.slack_at(from.index(o, k, i)));
      for (std::int64_t k = 0; k < to.length; ++k) {
        const std::size_t target = to.index(o, k, i);
        const std::int64_t found = order[size_of(k)];
        copy_elements(x, from.index(o, found, i), out[0], target);
        if (slack > 0) out[0].slack[target] = slack;
        out[1].integers[target] = found;
      }
    }
  }
  return {};
}

double next_above(double value, DType dtype) {
  if (!is_float(dtype)) return value + 1;
  return value + std::max(std::fabs(value) * 2 * unit_roundoff(dtype), smallest_subnormal(dtype));
}

// Typical inputs have no equal elements along the axis: of many drawn numbers some are equal, and are moved up a bit.
void draw_without_ties(const Call& call, InputClass input_class, Random&, std::span<Tensor* const> inputs) {
  if (input_class != InputClass::typical || !inputs[0]) return;
  Tensor& x = *inputs[0];
  const AxisView view(x.shape(), *normal_axis(call.integer("axis"), x.shape().rank()));
  std::vector<std::pair<double, std::int64_t>> lane(size_of(view.length));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      for (std::int64_t k = 0; k < view.length; ++k) {
        const auto at = static_cast<std::int64_t>(view.index(o, k, i));
        lane[size_of(k)] = {x.real(at), at};
      }
      std::ranges::sort(lane);
      for (std::size_t k = 1; k < lane.size(); ++k) {
        if (lane[k].first > lane[k - 1].first) continue;
        x.set_real(lane[k].second, next_above(lane[k - 1].first, x.dtype()));
        lane[k].first = x.real(lane[k].second);
      }
    }
  }
}

Op top_k() {
  Op op;
  op.name = "TopK";
  op.meaning =
      "the k largest (or smallest) elements along an axis in order, with their indices; of equal ones the smaller "
      "index comes first";
  op.since = 11;
  // sorted = 0 leaves the order open; we ask for the sorted one, which is right then too.
  op.attributes = {{.name = "axis", .fallback = std::int64_t{-1}},
                   {.name = "k"},
                   {.name = "largest", .fallback = std::int64_t{1}},
                   {.name = "sorted", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "X", .types = kNumbers, .domain = {.infinities = true}},
               {.name = "K", .types = kInt64, .group = "", .optional = true, .constant = true}};
  op.outputs = {{"Values"}, {"Indices"}};
  op.infer = infer_top_k;
  op.reference = find_top_k;
  op.flops = input_count;
  op.draw = draw_without_ties;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
    Sample sample;
    sample.input(random.pick({DType::float32, DType::float32, DType::int64, DType::int32}), shape)
        .constant(Tensor::of_integers({random.integer(1, shape[axis])}))
        .attribute("axis", sample_axis(random, axis, shape.rank()))
        .attribute("largest", random.integer(0, 1));
    sample.outputs = 2;
    return sample;
  };
  return op;
}

// --- Unique ---

// The rows that are compared: the slices along the axis, or without one the single elements.
AxisView rows_of(const Call& call, const Shape& shape) {
  if (!call.attributes.has("axis")) return {Shape{shape.count()}, 0};
  return {shape, *normal_axis(call.integer("axis"), shape.rank())};
}

// The shape of this number of rows together.
Shape shape_of_rows(const Call& call, std::int64_t count) {
  if (!call.attributes.has("axis")) return {count};
  Shape shape = call.shape(0);
  shape[*normal_axis(call.integer("axis"), shape.rank())] = count;
  return shape;
}

Result<Types> infer_unique(const Call& call) {
  const Shape& shape = call.shape(0);
  if (call.attributes.has("axis")) KW_CHECK(normal_axis(call.integer("axis"), shape.rank()));
  const Shape rows{rows_of(call, shape).length};
  return Types{{call.dtype(0), shape_of_rows(call, rows[0]), true},
               {DType::int64, rows, true},
               {DType::int64, rows},
               {DType::int64, rows, true}};
}

// Is row a before row b, their elements compared one by one?
bool row_less(const WideTensor& x, const AxisView& view, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const std::size_t at_a = view.index(o, a, i);
      const std::size_t at_b = view.index(o, b, i);
      if (less(x, at_a, at_b)) return true;
      if (less(x, at_b, at_a)) return false;
    }
  }
  return false;
}

// The rows in groups of equal ones, each in the order of the input; groups in sorted order or as they first appear.
std::vector<std::vector<std::int64_t>> groups_of(const WideTensor& x, const AxisView& view, bool sorted) {
  std::vector<std::int64_t> order(size_of(view.length));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return row_less(x, view, a, b); });
  std::vector<std::vector<std::int64_t>> groups;
  for (std::int64_t row : order) {
    if (groups.empty() || row_less(x, view, groups.back().front(), row)) groups.emplace_back();
    groups.back().push_back(row);
  }
  if (!sorted) std::ranges::sort(groups, {}, [](const auto& group) { return group.front(); });
  return groups;
}

Status find_unique(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const AxisView from = rows_of(call, x.shape);
  const auto groups = groups_of(x, from, call.integer("sorted") != 0);
  const Shape shape = shape_of_rows(call, std::ssize(groups));
  out[0] = WideTensor(TensorType{x.dtype, shape});
  out[1] = out[3] = WideTensor(TensorType{DType::int64, Shape{std::ssize(groups)}});
  const AxisView to = rows_of(call, shape);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::int64_t first = groups[group].front();
    const auto place = static_cast<std::int64_t>(group);
    for (std::int64_t o = 0; o < from.outer; ++o) {
      copy_elements(x, from.index(o, first, 0), out[0], to.index(o, place, 0), size_of(from.inner));
    }
    out[1].integers[group] = first;
    for (std::int64_t row : groups[group]) out[2].integers[size_of(row)] = place;
    out[3].integers[group] = std::ssize(groups[group]);
  }
  return {};
}

// Some rows are copies of others: without them every count is 1. At edges they are copies but for their last element.
void draw_repeated_rows(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0]) return;
  const double share = input_class == InputClass::ties || input_class == InputClass::edges ? 0.5 : 0.125;
  Tensor& x = *inputs[0];
  const AxisView view = rows_of(call, x.shape());
  const std::size_t width = size_bytes(x.dtype());
  const std::int64_t copied = view.outer * view.inner - (input_class == InputClass::edges ? 1 : 0);
  for (std::int64_t row = 1; row < view.length; ++row) {
    if (!random.chance(share)) continue;
    const std::int64_t source = random.integer(0, row - 1);
    for (std::int64_t i = 0; i < copied; ++i) {
      std::memcpy(&x.bytes()[width * view.index(i / view.inner, row, i % view.inner)],
                  &x.bytes()[width * view.index(i / view.inner, source, i % view.inner)], width);
    }
  }
}

Op unique() {
  Op op;
  op.name = "Unique";
  op.meaning =
      "the distinct elements (or slices along an axis), sorted or as they appear; where each first stands, which of "
      "them each input is, and how often each occurs";
  op.since = 11;
  op.attributes = {{.name = "axis"}, {.name = "sorted", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "X", .types = kAnyType, .domain = {.infinities = true}}};
  op.outputs = {{"Y"},
                {.name = "indices", .optional = true},
                {.name = "inverse_indices", .optional = true},
                {.name = "counts", .optional = true}};
  op.infer = infer_unique;
  op.reference = find_unique;
  op.flops = input_count;
  op.draw = draw_repeated_rows;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 3);
    Sample sample;
    sample.input(random.pick({DType::float32, DType::float32, DType::int64, DType::float64}), shape);
    if (random.chance(0.6)) sample.attribute("axis", random.integer(-shape.rank(), shape.rank() - 1));
    sample.attribute("sorted", random.integer(0, 1));
    sample.outputs = static_cast<std::size_t>(random.integer(1, 4));
    return sample;
  };
  return op;
}

// --- NonZero, Compress ---

bool is_nonzero(const WideTensor& x, std::size_t i) { return is_float(x.dtype) ? x.reals[i] != 0 : x.integers[i] != 0; }

Status find_nonzero(const Call&, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const int rank = x.shape.rank();
  std::vector<std::vector<std::int64_t>> found(size_of(rank));
  std::int64_t count = 0;
  std::size_t i = 0;
  each_index(x.shape, [&](const std::vector<std::int64_t>& at) {
    if (!is_nonzero(x, i++)) return;
    ++count;
    for (std::size_t axis = 0; axis < at.size(); ++axis) found[axis].push_back(at[axis]);
  });
  out[0] = WideTensor(TensorType{DType::int64, Shape{rank, count}});
  for (std::size_t axis = 0; axis < found.size(); ++axis) {
    std::ranges::copy(found[axis], out[0].integers.begin() + static_cast<std::ptrdiff_t>(axis) * count);
  }
  return {};
}

Op non_zero() {
  Op op;
  op.name = "NonZero";
  op.meaning = "the coordinates of the elements that are not zero, one row for each axis, in the input's order";
  op.since = 13;
  op.inputs = {{.name = "X", .types = kAnyType, .domain = whole_line()}};
  op.infer = [](const Call& call) -> Result<Types> {
    return Types{{DType::int64, Shape{call.shape(0).rank(), call.shape(0).count()}, true}};
  };
  op.reference = find_nonzero;
  op.flops = input_count;
  // Half of the elements are drawn zero.
  op.bytes = [](const Call& call) { return bytes_of(*call.inputs[0]) + bytes_of(call.outputs[0]) / 2; };
  op.draw = [](const Call&, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (!inputs[0] || inputs[0]->dtype() == DType::boolean) return;
    const double share = input_class != InputClass::typical && random.chance(0.1) ? 1 : 0.5;
    for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
      if (random.chance(share)) inputs[0]->set_real(i, random.sign() * 0.0);
    }
  };
  op.sample = [](Random& random) {
    return Sample().input(random.pick({DType::float32, DType::int32, DType::int64, DType::boolean, DType::uint8}),
                          sample_shape(random, 1, 4, true));
  };
  return op;
}

Result<Types> infer_compress(const Call& call) {
  if (call.attributes.has("axis")) KW_CHECK(normal_axis(call.integer("axis"), call.shape(0).rank()));
  const AxisView view = rows_of(call, call.shape(0));
  const Shape& condition = call.shape(1);
  if (condition.rank() != 1 || condition[0] > view.length) {
    return fail("condition {} marks more than the {} there are", condition.text(), view.length);
  }
  std::int64_t kept = condition[0];
  if (const Tensor* known = call.constants[1]) kept = std::ranges::count(known->as<bool>(), true);
  return Types{{call.dtype(0), shape_of_rows(call, kept), call.constants[1] == nullptr}};
}

Status take_marked(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const std::vector<std::int64_t>& condition = in[1]->integers;
  const Shape shape = shape_of_rows(call, std::ranges::count(condition, 1));
  out[0] = WideTensor(TensorType{in[0]->dtype, shape});
  const AxisView from = rows_of(call, in[0]->shape);
  const AxisView to = rows_of(call, shape);
  for (std::int64_t o = 0; o < from.outer; ++o) {
    std::int64_t kept = 0;
    for (std::int64_t k = 0; k < std::ssize(condition); ++k) {
      if (condition[size_of(k)] == 0) continue;
      copy_elements(*in[0], from.index(o, k, 0), out[0], to.index(o, kept++, 0), size_of(from.inner));
    }
  }
  return {};
}

Op compress() {
  Op op;
  op.name = "Compress";
  op.meaning = "the elements (or slices along an axis) that a condition marks";
  op.since = 11;
  op.attributes = {{.name = "axis"}};
  op.inputs = {{.name = "input", .types = kAnyType, .domain = whole_line()},
               {.name = "condition", .types = kBool, .group = ""}};
  op.outputs = {{"output"}};
  op.infer = infer_compress;
  op.reference = take_marked;
  op.flops = no_flops;
  // Half of a condition is drawn true.
  op.bytes = [](const Call& call) {
    return bytes_of(*call.inputs[1]) + bytes_of(call.outputs[0]) * (call.outputs[0].from_values ? 1 : 2);
  };
  op.draw = [](const Call&, InputClass, Random& random, std::span<Tensor* const> inputs) {
    // One of the first two is kept, the other is not: neither all nor nothing.
    if (!inputs[1] || inputs[1]->count() < 2) return;
    const auto condition = inputs[1]->as<bool>();
    condition[0] = random.chance(0.5);
    condition[1] = !condition[0];
  };
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    Sample sample;
    sample.input(sample_type(random, kAnyType), shape);
    std::int64_t length = shape.count();
    if (random.chance(0.7)) {
      const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
      sample.attribute("axis", sample_axis(random, axis, shape.rank()));
      length = shape[axis];
    }
    return std::move(sample.input(DType::boolean, {random.chance(0.3) ? random.integer(1, length) : length}));
  };
  return op;
}

}  // namespace

std::vector<Op> selection() { return {top_k(), unique(), non_zero(), compress()}; }

}  // namespace kw::ops::families
