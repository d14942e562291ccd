// Operators that move elements and compute nothing: the same elements in another shape or another order.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

Status copy_all(const Call&, WideInputs in, std::span<WideTensor> out) {
  copy_elements(*in[0], 0, out[0], 0, size_of(in[0]->count()));
  return {};
}

// --- The same order, another shape ---

Op identity() {
  Op op = mover("Identity", "the input itself", 13);
  op.infer = [](const Call& call) -> Result<Types> { return Types{*call.inputs[0]}; };
  op.reference = copy_all;
  op.sample = [](Random& random) {
    return Sample().input(sample_type(random, kAnyType), sample_shape(random, 0, 4, true));
  };
  return op;
}

Result<Types> infer_reshape(const Call& call) {
  KW_TRY(const auto target, call.given_integers(1, "shape"));
  if (!target) return fail("no target shape is given");
  const Shape& from = call.shape(0);
  Shape to(*target);
  int open = -1;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == 0 && call.integer("allowzero") == 0) {
      if (axis >= from.rank()) return fail("the 0 in {} copies a length that {} does not have", to.text(), from.text());
      to[axis] = from[axis];
    } else if (to[axis] == -1) {
      if (open >= 0) return fail("{} leaves more than one length open", Shape(*target).text());
      open = axis;
      to[axis] = 1;
    }
  }
  KW_CHECK(check_shape(to));
  if (open >= 0) {
    if (to.count() == 0) return fail("the length that {} leaves open can be any", Shape(*target).text());
    to[open] = from.count() / to.count();
  }
  if (to.count() != from.count()) {
    return fail("the {} elements of {} do not fit {}", from.count(), from.text(), Shape(*target).text());
  }
  return Types{{call.dtype(0), std::move(to)}};
}

// A random factorisation of a shape's count, written with 0 and -1 where they may stand.
Integers sample_target(Random& random, const Shape& shape) {
  Integers target;
  if (random.chance(0.3)) {
    target.assign(shape.begin(), shape.end());
    for (std::int64_t& length : target) length = random.chance(0.5) ? 0 : length;
  } else {
    std::int64_t rest = shape.count();
    for (std::int64_t factor : {2, 3, 5, 7, 4}) {
      if (rest % factor != 0 || random.chance(0.3)) continue;
      target.push_back(factor);
      rest /= factor;
    }
    target.push_back(rest);
    random.shuffle(std::span(target));
  }
  if (!target.empty() && random.chance(0.5)) target.back() = -1;
  return target;
}

Op reshape() {
  Op op = mover("Reshape", "the same elements in another shape; 0 copies a length, -1 takes what is left", 14);
  op.attributes = {{.name = "allowzero", .fallback = std::int64_t{0}},
                   {.name = "shape", .kind = AttributeKind::integers}};
  op.inputs.push_back(integers_input("shape", kInt64, true));
  op.outputs = {{"reshaped"}};
  op.infer = infer_reshape;
  op.reference = copy_all;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 0, 4);
    return Sample()
        .input(sample_type(random, kAnyType), shape)
        .constant(Tensor::of_integers(sample_target(random, shape)));
  };
  return op;
}

Op squeeze() {
  Op op = mover("Squeeze", "without axes of length 1: those named, or all", 13);
  op.attributes = {{.name = "axes", .kind = AttributeKind::integers}};
  op.inputs.push_back(integers_input("axes", kInt64, true));
  op.outputs = {{"squeezed"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& from = call.shape(0);
    KW_TRY(const auto given, call.given_integers(1, "axes"));
    KW_TRY(const std::vector<int> axes, normal_axes(given.value_or(Integers{}), from.rank()));
    Shape to;
    for (int axis = 0; axis < from.rank(); ++axis) {
      const bool named = std::ranges::find(axes, axis) != axes.end();
      if (named && from[axis] != 1) return fail("axis {} of {} is not of length 1", axis, from.text());
      if (!(named || (!given && from[axis] == 1))) to.append(from[axis]);
    }
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = copy_all;
  op.sample = [](Random& random) {
    Shape shape = sample_shape(random, 1, 5);
    Integers axes;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (random.chance(0.5)) shape[axis] = 1;
      if (shape[axis] == 1 && random.chance(0.7)) axes.push_back(sample_axis(random, axis, shape.rank()));
    }
    Sample sample;
    sample.input(sample_type(random, kAnyType), shape);
    if (!axes.empty()) sample.constant(Tensor::of_integers(axes));
    return sample;
  };
  return op;
}

Op unsqueeze() {
  Op op = mover("Unsqueeze", "with axes of length 1 put in; they count in the result's shape", 13);
  op.attributes = {{.name = "axes", .kind = AttributeKind::integers}};
  op.inputs.push_back(integers_input("axes", kInt64, true));
  op.outputs = {{"expanded"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& from = call.shape(0);
    KW_TRY(const auto given, call.given_integers(1, "axes"));
    if (!given) return fail("no axes are given");
    const int rank = from.rank() + static_cast<int>(given->size());
    KW_TRY(const std::vector<int> axes, normal_axes(*given, rank));
    Shape to;
    int next = 0;
    for (int axis = 0; axis < rank; ++axis) {
      to.append(std::ranges::find(axes, axis) != axes.end() ? 1 : from[next++]);
    }
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = copy_all;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 0, 3, true);
    const auto more = static_cast<int>(random.integer(1, 2));
    std::vector<int> places = all_axes(shape.rank() + more);
    random.shuffle(std::span(places));
    Integers axes;
    for (int i = 0; i < more; ++i) {
      const int axis = places[static_cast<std::size_t>(i)];
      axes.push_back(sample_axis(random, axis, shape.rank() + more));
    }
    return Sample().input(sample_type(random, kAnyType), shape).constant(Tensor::of_integers(axes));
  };
  return op;
}

Op flatten() {
  Op op = mover("Flatten", "as a matrix: the axes before `axis` are its rows, the others its columns", 13);
  op.attributes = {{.name = "axis", .fallback = std::int64_t{1}}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& from = call.shape(0);
    const int rank = from.rank();
    const std::int64_t axis = call.integer("axis");
    if (axis < -rank || axis > rank) return fail("axis {} is not within {} and {}", axis, -rank, rank);
    const auto cut = static_cast<int>(axis < 0 ? axis + rank : axis);
    return Types{{call.dtype(0), Shape{from.count(0, cut), from.count(cut, rank)}}};
  };
  op.reference = copy_all;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    return Sample()
        .input(sample_type(random, kAnyType), shape)
        .attribute("axis", random.integer(-shape.rank(), shape.rank()));
  };
  return op;
}

// --- Another order ---

// Fills `to` with the elements of `from`, seen as having shape `seen`, its axes taken in another order.
void copy_transposed(const WideTensor& from, const Shape& seen, const std::vector<int>& order, WideTensor& to) {
  const Integers own = seen.strides();
  Shape shape;
  Integers strides;
  for (int axis : order) {
    shape.append(seen[axis]);
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  copy_view(from, 0, shape, strides, to);
}

Result<std::vector<int>> transposed_axes(const Call& call) {
  const int rank = call.shape(0).rank();
  if (!call.attributes.has("perm")) {
    std::vector<int> axes = all_axes(rank);
    std::ranges::reverse(axes);
    return axes;
  }
  const Integers& perm = call.integers("perm");
  if (std::ssize(perm) != rank) return fail("perm names {} axes, but the input has {}", perm.size(), rank);
  return ordered_axes(perm, rank);
}

Op transpose() {
  Op op = mover("Transpose", "with the axes in another order, by default the reverse", 13);
  op.attributes = {{.name = "perm", .kind = AttributeKind::integers}};
  op.outputs = {{"transposed"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const std::vector<int> axes, transposed_axes(call));
    Shape to;
    for (int axis : axes) to.append(call.shape(0)[axis]);
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    copy_transposed(*in[0], in[0]->shape, *transposed_axes(call), out[0]);
    return {};
  };
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 0, 5, true);
    Sample sample;
    sample.input(sample_type(random, kAnyType), shape);
    if (shape.rank() == 0 || random.chance(0.2)) return sample;
    Integers perm;
    for (int axis = 0; axis < shape.rank(); ++axis) perm.push_back(axis);
    random.shuffle(std::span(perm));
    return std::move(sample.attribute("perm", perm));
  };
  return op;
}

constexpr std::int64_t kLargestBlock = 1 << 15;

Op depth_to_space() {
  Op op = mover("DepthToSpace", "channels become blocks of pixels (DCR: block first, CRD: channel first)", 13);
  op.attributes = {{.name = "blocksize", .required = true},
                   {.name = "mode", .kind = AttributeKind::text, .fallback = "DCR", .choices = {"DCR", "CRD"}}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& x = call.shape(0);
    const std::int64_t block = call.integer("blocksize");
    if (x.rank() != 4) return fail("the input must have 4 axes, not {}", x.text());
    if (block < 1 || block > kLargestBlock) return fail("blocksize cannot be {}", block);
    if (x[1] % (block * block) != 0) return fail("{0} channels do not make blocks of {1} x {1}", x[1], block);
    return Types{{call.dtype(0), Shape{x[0], x[1] / (block * block), x[2] * block, x[3] * block}}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Shape& x = in[0]->shape;
    const std::int64_t block = call.integer("blocksize");
    const std::int64_t channels = out[0].shape[1];
    if (call.text("mode") == "DCR") {
      copy_transposed(*in[0], {x[0], block, block, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, out[0]);
    } else {
      copy_transposed(*in[0], {x[0], channels, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, out[0]);
    }
    return {};
  };
  op.sample = [](Random& random) {
    const std::int64_t block = random.integer(1, 4);
    return Sample()
        .input(sample_type(random, kFloats),
               {random.integer(1, 2), block * block * random.integer(1, 3), random.integer(1, 7), random.integer(1, 7)})
        .attribute("blocksize", block)
        .attribute("mode", random.pick({std::string("DCR"), std::string("CRD")}));
  };
  return op;
}

Op space_to_depth() {
  Op op = mover("SpaceToDepth", "blocks of pixels become channels (DCR: block first, CRD: channel first)", 13);
  op.attributes = {{.name = "blocksize", .required = true},
                   {.name = "mode", .kind = AttributeKind::text, .fallback = "DCR", .choices = {"DCR", "CRD"}}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& x = call.shape(0);
    const std::int64_t block = call.integer("blocksize");
    if (x.rank() != 4) return fail("the input must have 4 axes, not {}", x.text());
    if (block < 1 || block > kLargestBlock) return fail("blocksize cannot be {}", block);
    if (x[2] % block != 0 || x[3] % block != 0) return fail("{} does not divide into blocks of {}", x.text(), block);
    if (x[1] > kMostElements / (block * block)) return fail("blocks of {} make too many channels", block);
    return Types{{call.dtype(0), Shape{x[0], x[1] * block * block, x[2] / block, x[3] / block}}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Shape& y = out[0].shape;
    const std::int64_t block = call.integer("blocksize");
    const bool block_first = call.text("mode") == "DCR";
    const std::vector<int> order = block_first ? std::vector{0, 3, 5, 1, 2, 4} : std::vector{0, 1, 3, 5, 2, 4};
    copy_transposed(*in[0], {y[0], in[0]->shape[1], y[2], block, y[3], block}, order, out[0]);
    return {};
  };
  op.sample = [](Random& random) {
    const std::int64_t block = random.integer(1, 4);
    return Sample()
        .input(sample_type(random, kFloats),
               {random.integer(1, 2), random.integer(1, 5), block * random.integer(1, 5), block * random.integer(1, 5)})
        .attribute("blocksize", block);
  };
  return op;
}

Result<Types> infer_reverse_sequence(const Call& call) {
  const Shape& x = call.shape(0);
  const std::int64_t time = call.integer("time_axis");
  const std::int64_t batch = call.integer("batch_axis");
  if (x.rank() < 2) return fail("the input must have at least 2 axes, not {}", x.text());
  if (!((time == 0 && batch == 1) || (time == 1 && batch == 0))) {
    return fail("time_axis and batch_axis must be 0 and 1 or 1 and 0, not {} and {}", time, batch);
  }
  const Shape lengths{x[static_cast<int>(batch)]};
  if (call.shape(1) != lengths) return fail("sequence_lens must be {}, not {}", lengths.text(), call.shape(1).text());
  return Types{*call.inputs[0]};
}

Status reverse_sequences(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const Shape& shape = in[0]->shape;
  const bool time_first = call.integer("time_axis") == 0;
  const std::int64_t times = shape[time_first ? 0 : 1];
  const std::int64_t batches = shape[time_first ? 1 : 0];
  const std::int64_t inner = shape.count(2, shape.rank());
  const auto at = [&](std::int64_t time, std::int64_t batch) {
    return size_of((time_first ? time * batches + batch : batch * times + time) * inner);
  };
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t length = in[1]->integers[size_of(batch)];
    if (length < 0 || length > times) return fail("sequence {} cannot have {} of {} steps", batch, length, times);
    for (std::int64_t time = 0; time < times; ++time) {
      const std::int64_t source = time < length ? length - 1 - time : time;
      copy_elements(*in[0], at(source, batch), out[0], at(time, batch), size_of(inner));
    }
  }
  return {};
}

Op reverse_sequence() {
  Op op = mover("ReverseSequence", "the first sequence_lens[b] steps of every sequence b in reverse order", 10);
  op.attributes = {{.name = "batch_axis", .fallback = std::int64_t{1}},
                   {.name = "time_axis", .fallback = std::int64_t{0}}};
  op.inputs.push_back({.name = "sequence_lens", .types = kInt64, .group = ""});
  op.infer = infer_reverse_sequence;
  op.reference = reverse_sequences;
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (!inputs[1]) return;
    const std::int64_t times = call.shape(0)[static_cast<int>(call.integer("time_axis"))];
    for (std::int64_t& length : inputs[1]->as<std::int64_t>()) {
      length = random.integer(std::min<std::int64_t>(times, 1), times);
      if (input_class == InputClass::edges) length = random.pick({std::int64_t{0}, times});
    }
  };
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 2, 4);
    const std::int64_t batch = random.integer(0, 1);
    return Sample()
        .input(sample_type(random, kAnyType), shape)
        .input(DType::int64, {shape[static_cast<int>(batch)]})
        .attribute("batch_axis", batch)
        .attribute("time_axis", 1 - batch);
  };
  return op;
}

}  // namespace

std::vector<Op> layout() {
  return {identity(),  reshape(),        squeeze(),        unsqueeze(),       flatten(),
          transpose(), depth_to_space(), space_to_depth(), reverse_sequence()};
}

}  // namespace kw::ops::families
