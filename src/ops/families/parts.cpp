// Operators that join tensors and take parts of them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

Op concat() {
  Op op = mover("Concat", "the inputs one after the other along an axis", 13);
  op.attributes = {{.name = "axis", .required = true}};
  op.inputs[0].name = "inputs";
  op.inputs[0].variadic = true;
  op.outputs = {{"concat_result"}};
  op.infer = [](const Call& call) -> Result<Types> {
    Shape to = call.shape(0);
    KW_TRY(const int axis, normal_axis(call.integer("axis"), to.rank()));
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
      Shape other = call.shape(i);
      if (other.rank() != to.rank()) return fail("{} and {} differ in rank", call.shape(0).text(), other.text());
      const std::int64_t joined = to[axis] + other[axis];
      other[axis] = to[axis];
      if (other != to) {
        return fail("{} and {} differ in more than axis {}", call.shape(0).text(), call.shape(i).text(), axis);
      }
      if (joined > kMostElements) return fail("the inputs are too many to join");
      to[axis] = joined;
    }
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const int axis = *normal_axis(call.integer("axis"), out[0].shape.rank());
    const AxisView to(out[0].shape, axis);
    std::int64_t start = 0;
    for (const WideTensor* part : in) {
      const AxisView from(part->shape, axis);
      for (std::int64_t o = 0; o < from.outer; ++o) {
        copy_elements(*part, from.index(o, 0, 0), out[0], to.index(o, start, 0), size_of(from.length * from.inner));
      }
      start += from.length;
    }
    return {};
  };
  op.sample = [](Random& random) {
    Shape shape = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
    const DType type = sample_type(random, kAnyType);
    Sample sample;
    for (std::int64_t i = random.integer(1, 4); i > 0; --i) {
      shape[axis] = random.integer(1, 6);
      sample.input(type, shape);
    }
    return std::move(sample.attribute("axis", sample_axis(random, axis, shape.rank())));
  };
  return op;
}

// The lengths of Split's results.
Result<Integers> parts_of(const Call& call) {
  KW_TRY(const int axis, normal_axis(call.integer("axis"), call.shape(0).rank()));
  const std::int64_t length = call.shape(0)[axis];
  const std::int64_t outputs = std::ssize(call.wanted);
  const bool counted = call.attributes.has("num_outputs");
  KW_TRY(auto given, call.given_integers(1, "split"));
  if (given && counted) return fail("split and num_outputs cannot both be given");
  const std::int64_t parts = given ? std::ssize(*given) : counted ? call.integer("num_outputs") : outputs;
  if (parts != outputs || parts == 0) return fail("splits into {} parts, but has {} outputs", parts, outputs);
  if (given) {
    std::int64_t sum = 0;
    for (std::int64_t part : *given) {
      if (part < 0 || part > length - sum) return fail("the parts do not add up to the length {}", length);
      sum += part;
    }
    if (sum != length) return fail("the parts add up to {}, not to the length {}", sum, length);
    return *given;
  }
  const std::int64_t part = (length + parts - 1) / parts;
  const std::int64_t last = length - part * (parts - 1);
  if (last < 0 || (last != part && !counted)) return fail("a length of {} does not split into {} parts", length, parts);
  Integers result(size_of(parts), part);
  result.back() = last;
  return result;
}

Op split() {
  Op op = mover("Split", "parts of the input along an axis: of given lengths, or equal but for the last", 18);
  op.attributes = {{.name = "axis", .fallback = std::int64_t{0}},
                   {.name = "num_outputs"},
                   {.name = "split", .kind = AttributeKind::integers}};
  op.inputs.push_back(integers_input("split", kInt64, true));
  op.outputs = {{.name = "outputs", .variadic = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Integers parts, parts_of(call));
    const int axis = *normal_axis(call.integer("axis"), call.shape(0).rank());
    Types types;
    for (std::int64_t part : parts) {
      types.push_back({call.dtype(0), call.shape(0)});
      types.back().shape[axis] = part;
    }
    return types;
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const int axis = *normal_axis(call.integer("axis"), in[0]->shape.rank());
    const AxisView from(in[0]->shape, axis);
    std::int64_t start = 0;
    for (WideTensor& part : out) {
      const AxisView to(part.shape, axis);
      for (std::int64_t o = 0; o < to.outer; ++o) {
        copy_elements(*in[0], from.index(o, start, 0), part, to.index(o, 0, 0), size_of(to.length * to.inner));
      }
      start += to.length;
    }
    return {};
  };
  op.sample = [](Random& random) {
    Shape shape = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
    const std::int64_t parts = random.integer(1, 4);
    Sample sample;
    sample.outputs = size_of(parts);
    sample.attribute("axis", sample_axis(random, axis, shape.rank()));
    if (random.chance(0.5)) {
      const std::int64_t part = random.integer(1, 5);
      shape[axis] = part * parts - random.integer(0, std::min(part, parts) - 1);
      sample.attribute("num_outputs", parts).input(sample_type(random, kAnyType), shape);
    } else {
      Integers lengths;
      for (std::int64_t i = 0; i < parts; ++i) lengths.push_back(random.integer(1, 5));
      shape[axis] = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
      sample.input(sample_type(random, kAnyType), shape).constant(Tensor::of_integers(lengths));
    }
    return sample;
  };
  return op;
}

// What Slice takes of one axis.
struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t length = 0;
};

Cut cut_of(std::int64_t length, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (length == 0) return {};
  step = std::clamp(step, -kMostElements, kMostElements);
  if (start < 0) start += length;
  if (end < 0) end += length;
  // Backwards the first element is at most the last one, and the end may lie before the first.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? length : length - 1;
  start = std::clamp(start, std::int64_t{0}, high);
  end = std::clamp(end, low, high);
  const std::int64_t distance = step > 0 ? end - start : start - end;
  return {start, step, distance > 0 ? 1 + (distance - 1) / std::abs(step) : 0};
}

// One cut for each axis of the input.
Result<std::vector<Cut>> cuts_of(const Call& call) {
  const Shape& shape = call.shape(0);
  KW_TRY(const auto starts, call.given_integers(1, "starts"));
  KW_TRY(const auto ends, call.given_integers(2, "ends"));
  if (!starts || !ends) return fail("starts and ends must be given");
  KW_TRY(const auto named, call.given_integers(3, "axes"));
  KW_TRY(const auto steps, call.given_integers(4, "steps"));
  std::vector<int> axes = all_axes(static_cast<int>(starts->size()));
  if (named) {
    KW_TRY(axes, ordered_axes(*named, shape.rank()));
  }
  const std::size_t count = starts->size();
  if (ends->size() != count || axes.size() != count || (steps && steps->size() != count)) {
    return fail("starts, ends, axes and steps differ in length");
  }
  if (std::ssize(axes) > shape.rank()) return fail("{} axes are cut, but the input is {}", count, shape.text());
  std::vector<Cut> cuts;
  for (std::int64_t length : shape) cuts.push_back({0, 1, length});
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return fail("a step of 0 never ends");
    cuts[static_cast<std::size_t>(axes[i])] = cut_of(shape[axes[i]], (*starts)[i], (*ends)[i], step);
  }
  return cuts;
}

Sample sample_slice(Random& random) {
  const Shape shape = sample_shape(random, 1, 4);
  std::vector<int> order = all_axes(shape.rank());
  random.shuffle(std::span(order));
  order.resize(static_cast<std::size_t>(random.integer(1, shape.rank())));
  Integers starts, ends, axes, steps;
  for (int axis : order) {
    const std::int64_t length = shape[axis];
    axes.push_back(sample_axis(random, axis, shape.rank()));
    steps.push_back(random.pick({1, 1, 2, 3, -1, -2}));
    starts.push_back(steps.back() > 0 ? random.integer(0, length / 2) : random.integer(length / 2, length + 1));
    ends.push_back(steps.back() > 0 ? random.integer((length + 1) / 2, length + 2)
                                    : random.integer(-length - 1, -length));
    if (random.chance(0.2)) starts.back() -= length;
    if (random.chance(0.1)) ends.back() = steps.back() > 0 ? std::numeric_limits<std::int64_t>::max() : -kMostElements;
  }
  Sample sample;
  sample.input(sample_type(random, kAnyType), shape)
      .constant(Tensor::of_integers(starts))
      .constant(Tensor::of_integers(ends))
      .constant(Tensor::of_integers(axes))
      .constant(Tensor::of_integers(steps));
  return sample;
}

Op slice() {
  Op op = mover("Slice", "from start to end by step along each named axis; ends beyond the tensor are cut to it", 13);
  op.attributes = {{.name = "starts", .kind = AttributeKind::integers},
                   {.name = "ends", .kind = AttributeKind::integers},
                   {.name = "axes", .kind = AttributeKind::integers}};
  for (const char* name : {"starts", "ends", "axes", "steps"}) op.inputs.push_back(integers_input(name, kIndex, true));
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const std::vector<Cut> cuts, cuts_of(call));
    Shape to;
    for (const Cut& cut : cuts) to.append(cut.length);
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    Integers strides = in[0]->shape.strides();
    std::int64_t offset = 0;
    const std::vector<Cut> cuts = *cuts_of(call);
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
      offset += cuts[axis].start * strides[axis];
      strides[axis] *= cuts[axis].step;
    }
    copy_view(*in[0], offset, out[0].shape, strides, out[0]);
    return {};
  };
  op.bytes = [](const Call& call) { return 2 * bytes_of(call.outputs[0]); };
  op.sample = sample_slice;
  return op;
}

Op trilu() {
  Op op = mover("Trilu", "the upper or lower triangle of every matrix, from its k-th diagonal on; zero elsewhere", 14);
  op.attributes = {{.name = "upper", .fallback = std::int64_t{1}}};
  op.inputs.push_back({.name = "k", .types = kInt64, .group = "", .domain = {.low = -8, .high = 8}, .optional = true});
  op.infer = [](const Call& call) -> Result<Types> {
    if (call.shape(0).rank() < 2) return fail("the input must have at least 2 axes, not {}", call.shape(0).text());
    KW_CHECK(call.check_one_number({1}));
    return Types{*call.inputs[0]};
  };
  // Calls f(row, first, last) with the columns [first, last) that stay in each row of a matrix.
  const auto each_row = [](const Call& call, std::int64_t k, auto&& f) {
    const Shape& shape = call.shape(0);
    const std::int64_t columns = shape[shape.rank() - 1];
    k = std::clamp(k, -kMostElements, kMostElements);
    for (std::int64_t row = 0; row < shape[shape.rank() - 2]; ++row) {
      if (call.integer("upper") != 0) {
        f(row, std::clamp(row + k, std::int64_t{0}, columns), columns);
      } else {
        f(row, std::int64_t{0}, std::clamp(row + k + 1, std::int64_t{0}, columns));
      }
    }
  };
  op.reference = [each_row](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Shape& shape = in[0]->shape;
    const std::int64_t columns = shape[shape.rank() - 1];
    const std::int64_t matrix = columns * shape[shape.rank() - 2];
    const std::int64_t k = call.has(1) ? in[1]->integers[0] : 0;
    for (std::int64_t start = 0; start < shape.count(); start += matrix) {
      each_row(call, k, [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        const std::size_t at = size_of(start + row * columns + first);
        copy_elements(*in[0], at, out[0], at, size_of(last - first));
      });
    }
    return {};
  };
  op.bytes = [each_row](const Call& call) {
    const Shape& shape = call.shape(0);
    std::int64_t kept = 0;
    each_row(call, call.has(1) && call.constants[1] ? call.constants[1]->integer(0) : 0,
             [&](std::int64_t, std::int64_t first, std::int64_t last) { kept += last - first; });
    const auto read = static_cast<double>(kept * shape.count(0, shape.rank() - 2));
    return read * static_cast<double>(size_bytes(call.dtype(0))) + bytes_of(call.outputs[0]);
  };
  op.sample = [](Random& random) {
    Sample sample;
    sample.input(random.pick({DType::float32, DType::float32, DType::int64, DType::boolean}),
                 sample_shape(random, 2, 4));
    sample.attribute("upper", random.integer(0, 1));
    if (random.chance(0.7)) {
      Tensor k(DType::int64, Shape{});
      k.set_integer(0, random.integer(-9, 9));
      sample.constant(std::move(k));
    }
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> parts() { return {concat(), split(), slice(), trilu()}; }

}  // namespace kw::ops::families
