// Operators that repeat elements: whole copies of the input, and margins around it (which, negative, cut it).
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

Op tile() {
  Op op = mover("Tile", "the input repeated along every axis", 13);
  op.inputs.push_back(integers_input("repeats", kInt64, false));
  op.infer = [](const Call& call) -> Result<Types> {
    Shape to = call.shape(0);
    KW_TRY(const Integers repeats, call.constant_integers(1));
    if (std::ssize(repeats) != to.rank()) return fail("{} repeats are given for {}", repeats.size(), to.text());
    for (int axis = 0; axis < to.rank(); ++axis) {
      const std::int64_t times = repeats[static_cast<std::size_t>(axis)];
      if (times < 0 || times > kMostElements / std::max<std::int64_t>(to[axis], 1))
        return fail("cannot repeat {} times", times);
      to[axis] *= times;
    }
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Integers repeats = *call.constant_integers(1);
    const Integers own = in[0]->shape.strides();
    // Every axis as two: the copies, over which nothing moves, and the axis itself.
    Shape shape;
    Integers strides;
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      shape.append(repeats[axis]);
      shape.append(in[0]->shape[static_cast<int>(axis)]);
      strides.insert(strides.end(), {0, own[axis]});
    }
    copy_view(*in[0], 0, shape, strides, out[0]);
    return {};
  };
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 3);
    Integers repeats;
    for (int axis = 0; axis < shape.rank(); ++axis) repeats.push_back(random.integer(1, 3));
    return Sample().input(sample_type(random, kAnyType), shape).constant(Tensor::of_integers(repeats));
  };
  return op;
}

Op expand() {
  Op op = mover("Expand", "the input broadcast with a shape", 13);
  op.inputs.push_back(integers_input("shape", kInt64, false));
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Integers target, call.constant_integers(1));
    KW_CHECK(check_shape(Shape(target)));
    KW_TRY(Shape to, broadcast(call.shape(0), Shape(target)));
    return Types{{call.dtype(0), std::move(to)}};
  };
  op.reference = [](const Call&, WideInputs in, std::span<WideTensor> out) -> Status {
    BroadcastWalk(out[0].shape, {in[0]->shape}).each([&](std::size_t target, const std::size_t* source) {
      copy_elements(*in[0], source[0], out[0], target);
    });
    return {};
  };
  op.sample = [](Random& random) {
    const Shape target = sample_shape(random, 1, 4);
    // Half the time the target says 1 where the input already has the length.
    const Shape shape = sample_broadcast(random, target);
    Integers asked = target.lengths();
    for (int back = 1; back <= shape.rank(); ++back) {
      if (shape[shape.rank() - back] > 1 && random.chance(0.3)) asked[asked.size() - size_of(back)] = 1;
    }
    return Sample().input(sample_type(random, kAnyType), shape).constant(Tensor::of_integers(asked));
  };
  return op;
}

// Elements added before and after an axis; negative: cut off.
struct Margin {
  std::int64_t before = 0;
  std::int64_t after = 0;

  std::int64_t added() const { return std::max<std::int64_t>(before, 0) + std::max<std::int64_t>(after, 0); }
  std::int64_t kept(std::int64_t length) const {
    return length + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
  }
};

constexpr std::int64_t kFiller = -1;

// Where each coordinate of an axis with a margin comes from. What is cut off is gone before the rest is repeated.
Integers sources_along(std::int64_t length, Margin margin, const std::string& mode) {
  const std::int64_t cut = std::max<std::int64_t>(-margin.before, 0);
  const std::int64_t kept = margin.kept(length);
  const auto repeated = [&](std::int64_t at) {
    if (mode == "edge") return std::clamp(at, std::int64_t{0}, kept - 1);
    const std::int64_t period = mode == "wrap" ? kept : std::max<std::int64_t>(2 * (kept - 1), 1);
    at = (at % period + period) % period;
    return at < kept ? at : period - at;
  };
  Integers sources;
  for (std::int64_t i = 0; i < kept + margin.added(); ++i) {
    const std::int64_t at = i - std::max<std::int64_t>(margin.before, 0);
    const bool inside = at >= 0 && at < kept;
    sources.push_back(inside ? cut + at : mode == "constant" ? kFiller : cut + repeated(at));
  }
  return sources;
}

void copy_with_margins(const WideTensor& from, const std::vector<Margin>& margins, const std::string& mode,
                       const WideTensor& filler, WideTensor& to) {
  const Integers strides = from.shape.strides();
  std::vector<Integers> sources;
  for (std::size_t axis = 0; axis < margins.size(); ++axis) {
    sources.push_back(sources_along(from.shape[static_cast<int>(axis)], margins[axis], mode));
  }
  std::size_t target = 0;
  each_index(to.shape, [&](const Integers& at) {
    std::int64_t source = 0;
    bool filled = false;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      const std::int64_t along = sources[axis][size_of(at[axis])];
      filled |= along == kFiller;
      source += along * strides[axis];
    }
    copy_elements(filled ? filler : from, filled ? 0 : size_of(source), to, target++);
  });
}

Result<Types> infer_margins(const Call& call, const std::vector<Margin>& margins, bool constant) {
  Shape to = call.shape(0);
  for (int axis = 0; axis < to.rank(); ++axis) {
    const Margin margin = margins[static_cast<std::size_t>(axis)];
    const std::int64_t kept = margin.kept(to[axis]);
    if (kept < 0) return fail("more is cut off axis {} than its length {}", axis, to[axis]);
    if (kept == 0 && margin.added() > 0 && !constant) return fail("axis {} has nothing to repeat", axis);
    to[axis] = kept + margin.added();
  }
  return Types{{call.dtype(0), std::move(to)}};
}

Result<std::vector<Margin>> margins_of_pad(const Call& call) {
  const int rank = call.shape(0).rank();
  KW_TRY(const auto pads, call.given_integers(1, "pads"));
  if (!pads) return fail("no pads are given");
  std::vector<int> axes = all_axes(rank);
  if (call.has(3)) {
    KW_TRY(const Integers named, call.constant_integers(3));
    KW_TRY(axes, ordered_axes(named, rank));
  }
  if (pads->size() != 2 * axes.size()) return fail("{} pads are given for {} axes", pads->size(), axes.size());
  std::vector<Margin> margins(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Margin margin{(*pads)[i], (*pads)[axes.size() + i]};
    for (std::int64_t pad : {margin.before, margin.after}) {
      if (pad < -kMostElements || pad > kMostElements) return fail("a pad of {} is beyond all sizes", pad);
    }
    margins[static_cast<std::size_t>(axes[i])] = margin;
  }
  return margins;
}

Sample sample_pad(Random& random) {
  const Shape shape = sample_shape(random, 1, 4);
  const DType type = random.pick({DType::float32, DType::float32, DType::float64, DType::int32});
  const std::string mode = random.pick({std::string("constant"), std::string("constant"), std::string("reflect"),
                                        std::string("edge"), std::string("wrap")});
  std::vector<int> order = all_axes(shape.rank());
  const bool some = random.chance(0.4);
  if (some) {
    random.shuffle(std::span(order));
    order.resize(static_cast<std::size_t>(random.integer(1, shape.rank())));
  }
  Integers pads(2 * order.size()), axes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t length = shape[order[i]];
    axes.push_back(sample_axis(random, order[i], shape.rank()));
    for (std::int64_t* pad : {&pads[i], &pads[order.size() + i]}) {
      *pad = random.integer(0, std::min<std::int64_t>(mode == "reflect" ? length - 1 : length, 4));
      if (length > (mode == "constant" ? 2 : 6) && random.chance(0.2)) *pad = -1;
    }
  }
  Sample sample;
  sample.input(type, shape).constant(Tensor::of_integers(pads)).attribute("mode", mode);
  const bool valued = mode == "constant" && random.chance(0.6);
  if (valued) sample.input(type, {});
  if (some && !valued) sample.absent();
  if (some) sample.constant(Tensor::of_integers(axes));
  return sample;
}

Op pad() {
  Op op =
      mover("Pad",
            "with elements added around (or, negative, cut off): a constant, the edge repeated, the tensor mirrored "
            "or wrapped around",
            19);
  op.attributes = {{.name = "mode",
                    .kind = AttributeKind::text,
                    .fallback = "constant",
                    .choices = {"constant", "reflect", "edge", "wrap"}},
                   {.name = "pads", .kind = AttributeKind::integers},
                   {.name = "value", .kind = AttributeKind::real, .fallback = 0.0}};
  op.inputs.push_back(integers_input("pads", kInt64, true));
  op.inputs.push_back({.name = "constant_value", .types = kAnyType, .optional = true});
  op.inputs.push_back(integers_input("axes", kIndex, true));
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(call.check_one_number({2}));
    KW_TRY(const std::vector<Margin> margins, margins_of_pad(call));
    return infer_margins(call, margins, call.text("mode") == "constant");
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor value = widen(Tensor::scalar(call.real("value"), call.dtype(0)));
    copy_with_margins(*in[0], *margins_of_pad(call), call.text("mode"), call.has(2) ? *in[2] : value, out[0]);
    return {};
  };
  op.sample = sample_pad;
  return op;
}

Result<std::vector<Margin>> margins_of_crop(const Call& call) {
  const Shape& shape = call.shape(0);
  KW_TRY(const Integers target, call.constant_integers(1));
  KW_CHECK(check_shape(Shape(target)));
  std::vector<int> axes = all_axes(shape.rank());
  if (call.attributes.has("axes")) {
    KW_TRY(axes, ordered_axes(call.integers("axes"), shape.rank()));
  }
  if (target.size() != axes.size()) return fail("{} lengths are given for {} axes", target.size(), axes.size());
  std::vector<Margin> margins(static_cast<std::size_t>(shape.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    // An odd element is cut off or added at the end: the division drops it on either side of zero.
    const std::int64_t more = target[i] - shape[axes[i]];
    margins[static_cast<std::size_t>(axes[i])] = {more / 2, more - more / 2};
  }
  return margins;
}

Op center_crop_pad() {
  Op op = mover("CenterCropPad", "the middle of the input, cut or surrounded with zeros to the lengths asked for", 18);
  op.attributes = {{.name = "axes", .kind = AttributeKind::integers}};
  op.inputs.push_back(integers_input("shape", kIndex, false));
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const std::vector<Margin> margins, margins_of_crop(call));
    return infer_margins(call, margins, true);
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor zero(TensorType{call.dtype(0), Shape{}});
    copy_with_margins(*in[0], *margins_of_crop(call), "constant", zero, out[0]);
    return {};
  };
  op.bytes = [](const Call& call) {
    return std::min(bytes_of(*call.inputs[0]), bytes_of(call.outputs[0])) + bytes_of(call.outputs[0]);
  };
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 4);
    const auto first = static_cast<int>(random.integer(0, shape.rank() - 1));
    Integers target, axes;
    for (int axis = first; axis < shape.rank(); ++axis) {
      axes.push_back(sample_axis(random, axis, shape.rank()));
      target.push_back(random.integer(1, shape[axis] + 4));
    }
    Sample sample;
    sample.input(DType::float32, shape).constant(Tensor::of_integers(target));
    if (first > 0) sample.attribute("axes", axes);
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> repetition() { return {tile(), expand(), pad(), center_crop_pad()}; }

}  // namespace kw::ops::families
