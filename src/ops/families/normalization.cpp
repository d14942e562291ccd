// Normalisations by mean and variance: the elements of a group are moved and scaled by the group's own statistics.
//
// How far a right answer may be. Float32 kernels find the variance in one pass (E[x^2] - mean^2), in two, by Welford's
// or by shifted sums; all are honest. The one-pass formula is the worst: its sums of n squares are off by sum_bound(n)
// of E[x^2] = variance + mean^2, and that is left after the subtraction, so the variance is off by about
// u * 8 sqrt(n) * (variance + mean^2). Half of it, relative to variance + epsilon, is the error of 1 / deviation. Where
// the mean dwarfs the deviation this grows without limit, and a kernel must choose a better formula: beyond
// kMostCancelled nothing is forgiven.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

constexpr double kMostCancelled = 1.0 / 64;

// A tensor seen in a shape to which its groups, scale and bias broadcast.
struct Layout {
  Shape view;
  Shape groups;  // 1 along the axes that a group spans
  Shape scale = {};
  Shape bias = {};

  std::int64_t terms() const { return groups.count() == 0 ? 0 : view.count() / groups.count(); }
};

// One number for each group, with what a kernel's own rounding and what the inputs' slack may do to it.
struct Statistic {
  std::vector<double> value;
  std::vector<double> rounding;
  std::vector<double> carried;

  explicit Statistic(std::size_t groups) : value(groups), rounding(groups), carried(groups) {}
  static Statistic given(const WideTensor& tensor) {
    Statistic statistic(tensor.reals.size());
    statistic.value = tensor.reals;
    if (!tensor.exact()) statistic.carried = tensor.slack;
    return statistic;
  }
};

struct Moments {
  Statistic mean;
  Statistic square;  // the variance; or the mean of the squares
};

Statistic means_of(const WideTensor& x, const Layout& layout, DType working) {
  Statistic mean(static_cast<std::size_t>(layout.groups.count()));
  const std::int64_t terms = layout.terms();
  const auto n = static_cast<double>(terms);
  BroadcastWalk(layout.view, {layout.groups}).each([&](std::size_t i, const std::size_t* group) {
    mean.value[*group] += x.reals[i];
    mean.rounding[*group] += std::fabs(x.reals[i]);
    mean.carried[*group] += x.slack_at(i);
  });
  for (std::size_t g = 0; g < mean.value.size(); ++g) {
    mean.value[g] /= n;
    mean.rounding[g] = sum_bound(terms, mean.rounding[g], working) / n;
    mean.carried[g] /= n;
  }
  return mean;
}

// The mean of (x - mean)^2, with the rounding of the one-pass formula as the file's head explains.
Statistic squares_of(const WideTensor& x, const Layout& layout, const Statistic& mean, DType working) {
  Statistic square(mean.value.size());
  const std::int64_t terms = layout.terms();
  const auto n = static_cast<double>(terms);
  BroadcastWalk(layout.view, {layout.groups}).each([&](std::size_t i, const std::size_t* group) {
    const double distance = x.reals[i] - mean.value[*group];
    const double slack = x.slack_at(i);
    square.value[*group] += distance * distance;
    square.rounding[*group] += x.reals[i] * x.reals[i];
    square.carried[*group] += slack * (2 * std::fabs(distance) + slack);
  });
  for (std::size_t g = 0; g < square.value.size(); ++g) {
    square.value[g] /= n;
    square.rounding[g] =
        sum_bound(terms, square.rounding[g], working) / n + 2 * std::fabs(mean.value[g]) * mean.rounding[g];
    square.carried[g] /= n;
  }
  return square;
}

Moments moments_of(const WideTensor& x, const Layout& layout, DType working) {
  Statistic mean = means_of(x, layout, working);
  Statistic square = squares_of(x, layout, mean, working);
  return {std::move(mean), std::move(square)};
}

Moments squares_alone(const WideTensor& x, const Layout& layout, DType working) {
  Statistic zero(static_cast<std::size_t>(layout.groups.count()));
  Statistic square = squares_of(x, layout, zero, working);
  return {std::move(zero), std::move(square)};
}

// Where epsilon is added: under the root everywhere but in MeanVarianceNormalization.
struct Epsilon {
  double to_square = 0;
  double to_root = 0;
};

struct Inverse {
  double value;  // 1 / deviation
  double slack;
};

Inverse inverse_of(const Statistic& square, std::size_t group, Epsilon epsilon, DType working) {
  const double total = square.value[group] + epsilon.to_square;
  const double value = 1 / (std::sqrt(total) + epsilon.to_root);
  double lost = 0.5 * square.rounding[group] / total;
  if (epsilon.to_square > 0) {
    lost = std::min(lost, kMostCancelled);
  } else if (lost > 0.25 || total == 0) {
    lost = INFINITY;  // nothing holds the root away from zero: the answer is noise
  }
  double slack = value * (lost + 8 * unit_roundoff(working));
  if (const double carried = square.carried[group]; carried > 0) {
    slack += 1 / (std::sqrt(std::max(total - carried, 0.0)) + epsilon.to_root) - value;
  }
  return {value, slack};
}

// y = (x - mean) / deviation * scale + bias; scale and bias may be null.
void normalize(const WideTensor& x, const Layout& layout, const Moments& moments, Epsilon epsilon, DType working,
               const WideTensor* scale, const WideTensor* bias, WideTensor& y) {
  std::vector<Inverse> inverse;
  for (std::size_t g = 0; g < moments.square.value.size(); ++g) {
    inverse.push_back(inverse_of(moments.square, g, epsilon, working));
  }
  const double u = unit_roundoff(working);
  const double own_u = unit_roundoff(y.dtype);
  y.add_slack();
  const BroadcastWalk walk(layout.view, {layout.groups, layout.scale, layout.bias});
  walk.each([&](std::size_t i, const std::size_t* at) {
    const std::size_t g = at[0];
    const double mean = moments.mean.value[g];
    const double factor = scale ? scale->reals[at[1]] : 1;
    const double shift = bias ? bias->reals[at[2]] : 0;
    const double distance = x.reals[i] - mean;
    const double normal = distance * inverse[g].value;
    y.reals[i] = normal * factor + shift;
    // x * a + (bias - mean * a) is honest too: its roundings are as large as its terms.
    const double distance_slack = x.slack_at(i) + moments.mean.rounding[g] + moments.mean.carried[g] +
                                  4 * u * (std::fabs(x.reals[i]) + std::fabs(mean));
    const double normal_slack = distance_slack * inverse[g].value + std::fabs(distance) * inverse[g].slack;
    y.slack[i] = (distance == 0 ? distance_slack * inverse[g].value : normal_slack) * std::fabs(factor) +
                 4 * own_u * (std::fabs(normal * factor) + std::fabs(shift)) + smallest_normal(y.dtype);
    if (scale) y.slack[i] += std::fabs(normal) * scale->slack_at(at[1]);
    if (bias) y.slack[i] += bias->slack_at(at[2]);
  });
}

// In hard input classes a third of the groups is made hard: deviations of about the root of epsilon, so that a wrong
// epsilon shows; where ties are asked for, constant groups.
void draw_hard_groups(const Layout& layout, double epsilon, InputClass input_class, Random& random, Tensor& x) {
  if (input_class == InputClass::typical || input_class == InputClass::special) return;
  const auto count = static_cast<std::size_t>(layout.groups.count());
  std::vector<double> factor(count, 0);
  std::vector<double> constant(count);
  // Of some groups half of the elements are zero, or all but one.
  std::vector<std::int64_t> kept_from(count, 0), kept_to(count, layout.terms()), seen(count, 0);
  const BroadcastWalk walk(layout.view, {layout.groups});
  walk.each([&](std::size_t i, const std::size_t* group) {
    const double value = x.real(static_cast<std::int64_t>(i));
    factor[*group] += value * value;
  });
  for (std::size_t g = 0; g < count; ++g) {
    const double root_mean_square = std::sqrt(factor[g] / static_cast<double>(layout.terms()));
    const bool hard = random.chance(1.0 / 3) && root_mean_square > 0;
    const double wanted = std::sqrt(epsilon) * std::exp(0.5 * random.normal());
    factor[g] = hard ? wanted / root_mean_square : 1;
    const std::int64_t terms = layout.terms();
    if (!hard && terms > 3 && random.chance(0.15)) {
      kept_from[g] = random.chance(0.5) ? random.integer(0, terms - 1) : 0;
      kept_to[g] = random.chance(0.5) ? kept_from[g] + 1 : std::max(kept_from[g] + 1, terms / 2);
    }
    constant[g] = hard && input_class == InputClass::ties ? std::round(random.normal() * 8) / 4 : NAN;
  }
  walk.each([&](std::size_t i, const std::size_t* group) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t place = seen[*group]++;
    const bool kept = place >= kept_from[*group] && place < kept_to[*group];
    x.set_real(at, !kept ? 0 : std::isnan(constant[*group]) ? x.real(at) * factor[*group] : constant[*group]);
  });
}

Status check_terms(const Layout& layout) {
  if (layout.groups.count() > 0 && layout.terms() == 0) return fail("an empty group has no mean and variance");
  return {};
}

Status check_per_channel(const Call& call, std::size_t first, std::size_t last, std::int64_t channels) {
  for (std::size_t i = first; i <= last; ++i) {
    if (call.shape(i) == Shape{channels}) continue;
    return fail("input '{}' must have shape [{}], but has {}", call.op->inputs[i].name, channels, call.shape(i).text());
  }
  return {};
}

// [batch, channels, the rest]
Result<Shape> channel_view(const Shape& shape) {
  if (shape.rank() < 2) return fail("X must have a batch and a channel axis, but has shape {}", shape.text());
  return Shape{shape[0], shape[1], shape.count(2, shape.rank())};
}

AttributeSpec epsilon_attribute() { return {.name = "epsilon", .kind = AttributeKind::real, .fallback = 1e-5}; }

void sample_epsilon(Random& random, Sample& sample) {
  if (random.chance(0.5)) sample.attribute("epsilon", random.pick({1e-6, 1e-5, 1e-3, 0.1}));
}

// A shape [batch, channels, ...] with enough elements behind each channel for a variance.
Shape sample_image(Random& random, std::int64_t channels) {
  Shape shape{random.integer(1, 3), channels};
  for (std::int64_t axis = random.integer(1, 3); axis > 0; --axis) shape.append(random.pick({3, 4, 5, 7, 8}));
  return shape;
}

Result<Layout> batch_layout(const Call& call) {
  const Shape& shape = call.shape(0);
  if (shape.rank() == 0) return fail("X must have a batch axis, but is a scalar");
  // ONNX takes a single axis for the batch of one channel.
  const Shape view = shape.rank() == 1 ? Shape{shape[0], 1, 1} : *channel_view(shape);
  return Layout{view, {1, view[1], 1}, {view[1], 1}, {view[1], 1}};
}

// What training leaves behind: the old statistic and the batch's, mixed.
void mix_running(const WideTensor& old, const Statistic& current, double momentum, WideTensor& mixed) {
  const double u = unit_roundoff(mixed.dtype);
  mixed.add_slack();
  for (std::size_t c = 0; c < mixed.reals.size(); ++c) {
    const double kept = old.reals[c] * momentum;
    const double added = current.value[c] * (1 - momentum);
    mixed.reals[c] = kept + added;
    mixed.slack[c] = old.slack_at(c) * momentum + (current.rounding[c] + current.carried[c]) * std::fabs(1 - momentum) +
                     4 * u * (std::fabs(kept) + std::fabs(added) + std::fabs(current.value[c]) * momentum) +
                     smallest_normal(mixed.dtype);
  }
}

Op batch_normalization() {
  Op op;
  op.name = "BatchNormalization";
  op.meaning = "every channel moved and scaled by a mean and a variance: given ones, or in training the batch's own";
  op.since = 15;
  op.attributes = {epsilon_attribute(),
                   {.name = "momentum", .kind = AttributeKind::real, .fallback = 0.9},
                   {.name = "training_mode", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "X"},
               {.name = "scale", .group = "T1"},
               {.name = "B", .group = "T1"},
               {.name = "input_mean", .group = "T2"},
               {.name = "input_var", .group = "T2", .domain = {.low = 0}}};
  op.outputs = {{"Y"}, {.name = "running_mean", .optional = true}, {.name = "running_var", .optional = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Layout layout, batch_layout(call));
    KW_CHECK(check_per_channel(call, 1, 4, layout.view[1]));
    Types types{{call.dtype(0), call.shape(0)}};
    if (call.integer("training_mode") == 0) return types;
    KW_CHECK(check_terms(layout));
    types.push_back({call.dtype(3), call.shape(3)});
    types.push_back({call.dtype(4), call.shape(4)});
    return types;
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor& x = *in[0];
    const Layout layout = *batch_layout(call);
    const DType working = working_type(x.dtype);
    const bool training = call.integer("training_mode") != 0;
    const Moments moments =
        training ? moments_of(x, layout, working) : Moments{Statistic::given(*in[3]), Statistic::given(*in[4])};
    normalize(x, layout, moments, {.to_square = call.real("epsilon")}, working, in[1], in[2], out[0]);
    if (training) {
      mix_running(*in[3], moments.mean, call.real("momentum"), out[1]);
      mix_running(*in[4], moments.square, call.real("momentum"), out[2]);
    }
    return {};
  };
  op.flops = [](const Call& call) { return (call.integer("training_mode") ? 7 : 2) * input_count(call); };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    const double epsilon = call.real("epsilon");
    if (call.integer("training_mode")) {
      if (inputs[0]) draw_hard_groups(*batch_layout(call), epsilon, input_class, random, *inputs[0]);
    } else if (inputs[4] && input_class != InputClass::typical) {
      for (std::int64_t c = 0; c < inputs[4]->count(); ++c) {
        if (random.chance(0.5)) inputs[4]->set_real(c, random.chance(0.1) ? 0 : epsilon * std::exp(random.normal()));
      }
    }
  };
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t channels = random.pick({1, 3, 4, 7, 16});
    sample.input(DType::float32, sample_image(random, channels));
    for (int i = 0; i < 4; ++i) sample.input(DType::float32, {channels});
    sample_epsilon(random, sample);
    if (random.chance(0.3)) {
      sample.attribute("training_mode", std::int64_t{1}).attribute("momentum", random.pick({0.9, 0.5}));
      sample.outputs = 3;
    }
    return sample;
  };
  return op;
}

Result<Layout> instance_layout(const Call& call) {
  KW_TRY(const Shape view, channel_view(call.shape(0)));
  return Layout{view, {view[0], view[1], 1}, {view[1], 1}, {view[1], 1}};
}

Op instance_normalization() {
  Op op;
  op.name = "InstanceNormalization";
  op.meaning = "every channel of every image moved and scaled to mean 0 and variance 1, then scaled and shifted";
  op.since = 6;
  op.attributes = {epsilon_attribute()};
  op.inputs = {{.name = "input"}, {.name = "scale"}, {.name = "B"}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Layout layout, instance_layout(call));
    KW_CHECK(check_terms(layout));
    KW_CHECK(check_per_channel(call, 1, 2, layout.view[1]));
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Layout layout = *instance_layout(call);
    const DType working = working_type(in[0]->dtype);
    normalize(*in[0], layout, moments_of(*in[0], layout, working), {.to_square = call.real("epsilon")}, working, in[1],
              in[2], out[0]);
    return {};
  };
  op.flops = [](const Call& call) { return 7 * input_count(call); };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (inputs[0]) draw_hard_groups(*instance_layout(call), call.real("epsilon"), input_class, random, *inputs[0]);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t channels = random.pick({1, 3, 4, 7, 16});
    sample.input(DType::float32, sample_image(random, channels));
    sample.input(DType::float32, {channels}).input(DType::float32, {channels});
    sample_epsilon(random, sample);
    return sample;
  };
  return op;
}

// Scale and bias belong to channels; before opset 21 to groups.
Result<Layout> group_layout(const Call& call) {
  KW_TRY(const Shape channels, channel_view(call.shape(0)));
  const std::int64_t groups = call.integer("num_groups");
  if (groups < 1 || channels[1] % groups != 0) {
    return fail("num_groups is {}, which does not divide the {} channels", groups, channels[1]);
  }
  const Shape view{channels[0], groups, channels[1] / groups, channels[2]};
  const Shape affine{groups, call.opset < 21 ? 1 : view[2], 1};
  return Layout{view, {view[0], groups, 1, 1}, affine, affine};
}

Op group_normalization() {
  Op op;
  op.name = "GroupNormalization";
  op.meaning = "groups of channels of every image moved and scaled to mean 0 and variance 1, then scaled and shifted";
  op.since = 21;
  op.attributes = {epsilon_attribute(),
                   {.name = "num_groups", .required = true},
                   {.name = "stash_type", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "X"}, {.name = "scale"}, {.name = "bias"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Layout layout, group_layout(call));
    KW_CHECK(check_terms(layout));
    KW_CHECK(check_per_channel(call, 1, 2, layout.scale.count()));
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Layout layout = *group_layout(call);
    normalize(*in[0], layout, moments_of(*in[0], layout, DType::float32), {.to_square = call.real("epsilon")},
              DType::float32, in[1], in[2], out[0]);
    return {};
  };
  op.flops = [](const Call& call) { return 7 * input_count(call); };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (inputs[0]) draw_hard_groups(*group_layout(call), call.real("epsilon"), input_class, random, *inputs[0]);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t groups = random.pick({1, 2, 3, 4});
    const std::int64_t channels = groups * random.integer(1, 5);
    sample.input(DType::float32, sample_image(random, channels));
    sample.input(DType::float32, {channels}).input(DType::float32, {channels});
    sample.attribute("num_groups", groups);
    sample_epsilon(random, sample);
    return sample;
  };
  return op;
}

// Groups of all axes from `axis` on; scale and bias broadcast to X.
Result<Layout> trailing_layout(const Call& call) {
  const Shape& shape = call.shape(0);
  KW_TRY(const int axis, normal_axis(call.integer("axis"), shape.rank()));
  Layout layout{shape, shape, call.shape(1), call.has(2) ? call.shape(2) : Shape{}};
  for (int i = axis; i < shape.rank(); ++i) layout.groups[i] = 1;
  for (const Shape& affine : {layout.scale, layout.bias}) {
    const auto both = broadcast(shape, affine);
    if (!both.ok() || *both != shape) {
      return fail("scale and bias must broadcast to X, but {} does not broadcast to {}", affine.text(), shape.text());
    }
  }
  KW_CHECK(check_terms(layout));
  return layout;
}

Sample sample_trailing(Random& random, bool may_have_bias) {
  Sample sample;
  Shape shape = sample_shape(random, 0, 3);
  shape.append(random.pick({5, 8, 16, 17, 33}));
  const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
  Shape affine;
  for (int i = axis; i < shape.rank(); ++i) affine.append(shape[i]);
  sample.input(DType::float32, shape).input(DType::float32, affine);
  if (may_have_bias && random.chance(0.6)) sample.input(DType::float32, affine);
  if (axis != shape.rank() - 1 || random.chance(0.5)) {
    sample.attribute("axis", std::int64_t{random.chance(0.5) ? axis : axis - shape.rank()});
  }
  sample_epsilon(random, sample);
  return sample;
}

void draw_trailing(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (inputs[0]) draw_hard_groups(*trailing_layout(call), call.real("epsilon"), input_class, random, *inputs[0]);
}

Op layer_normalization() {
  Op op;
  op.name = "LayerNormalization";
  op.meaning =
      "the elements of all axes from one on moved and scaled to mean 0 and variance 1, then scaled and shifted";
  op.since = 17;
  op.attributes = {epsilon_attribute(),
                   {.name = "axis", .fallback = std::int64_t{-1}},
                   {.name = "stash_type", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "X"}, {.name = "Scale"}, {.name = "B", .optional = true}};
  op.outputs = {{"Y"}, {.name = "Mean", .optional = true}, {.name = "InvStdDev", .optional = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Layout layout, trailing_layout(call));
    const std::int64_t stash = call.integer("stash_type");  // ONNX's numbers of types
    if (stash != 1 && stash != 16) return fail("stash_type must be 1 (float32) or 16 (bfloat16), but is {}", stash);
    const DType kept = stash == 1 ? DType::float32 : DType::bfloat16;
    return Types{{call.dtype(0), call.shape(0)}, {kept, layout.groups}, {kept, layout.groups}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const WideTensor* bias = call.has(2) ? in[2] : nullptr;
    const Layout layout = *trailing_layout(call);
    const Epsilon epsilon{.to_square = call.real("epsilon")};
    const Moments moments = moments_of(*in[0], layout, DType::float32);
    normalize(*in[0], layout, moments, epsilon, DType::float32, in[1], bias, out[0]);
    out[1].add_slack();
    out[2].add_slack();
    for (std::size_t g = 0; g < out[1].reals.size(); ++g) {
      const Inverse inverse = inverse_of(moments.square, g, epsilon, DType::float32);
      out[1].reals[g] = moments.mean.value[g];
      out[1].slack[g] =
          moments.mean.rounding[g] + moments.mean.carried[g] + kRounded.bound(out[1].reals[g], out[1].dtype);
      out[2].reals[g] = inverse.value;
      out[2].slack[g] = inverse.slack + kRounded.bound(inverse.value, out[2].dtype);
    }
    return {};
  };
  op.flops = [](const Call& call) { return 7 * input_count(call); };
  op.draw = draw_trailing;
  op.sample = [](Random& random) {
    Sample sample = sample_trailing(random, true);
    sample.outputs = random.chance(0.7) ? 1 : 3;
    return sample;
  };
  return op;
}

Op rms_normalization() {
  Op op;
  op.name = "RMSNormalization";
  op.meaning = "the elements of all axes from one on divided by the root of the mean of their squares, then scaled";
  op.since = 23;
  op.attributes = {epsilon_attribute(),
                   {.name = "axis", .fallback = std::int64_t{-1}},
                   {.name = "stash_type", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "X"}, {.name = "scale", .group = "V"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(trailing_layout(call));
    return Types{{call.dtype(1), call.shape(0)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Layout layout = *trailing_layout(call);
    normalize(*in[0], layout, squares_alone(*in[0], layout, DType::float32), {.to_square = call.real("epsilon")},
              DType::float32, in[1], nullptr, out[0]);
    return {};
  };
  op.flops = [](const Call& call) { return 4 * input_count(call); };
  op.draw = draw_trailing;
  op.sample = [](Random& random) { return sample_trailing(random, false); };
  return op;
}

Result<Layout> free_layout(const Call& call) {
  Layout layout{call.shape(0), call.shape(0)};
  KW_TRY(const std::vector<int> axes, normal_axes(call.integers("axes"), call.shape(0).rank()));
  for (int axis : axes) layout.groups[axis] = 1;
  KW_CHECK(check_terms(layout));
  return layout;
}

Op mean_variance_normalization() {
  Op op;
  op.name = "MeanVarianceNormalization";
  op.meaning = "the elements along the axes moved to mean 0 and divided by their deviation (plus 1e-9)";
  op.since = 13;
  op.attributes = {{.name = "axes", .kind = AttributeKind::integers, .fallback = std::vector<std::int64_t>{0, 2, 3}}};
  op.inputs = {{.name = "X"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(free_layout(call));
    return Types{{call.dtype(0), call.shape(0)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Layout layout = *free_layout(call);
    const DType working = working_type(in[0]->dtype);
    normalize(*in[0], layout, moments_of(*in[0], layout, working), {.to_root = 1e-9}, working, nullptr, nullptr,
              out[0]);
    return {};
  };
  op.flops = [](const Call& call) { return 6 * input_count(call); };
  op.sample = [](Random& random) {
    Sample sample;
    Shape shape = sample_image(random, random.integer(2, 5));
    while (shape.rank() < 4) shape.append(random.integer(3, 7));
    sample.input(DType::float32, shape);
    if (random.chance(0.5)) {
      sample.attribute("axes",
                       random.chance(0.5) ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{0, -1, 1});
    }
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> normalization() {
  return {batch_normalization(), instance_normalization(), group_normalization(),
          layer_normalization(), rms_normalization(),      mean_variance_normalization()};
}

}  // namespace kw::ops::families
