// Losses of classification: how unlikely a model holds the classes that were right.
//
// Scores are [samples, classes, places...], labels [samples, places...]. A label's loss is minus the logarithm of its
// probability, times its class's weight; labels equal to ignore_index have loss and weight zero. The mean divides by
// the sum of the labels' weights.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

Result<Types> infer_loss(const Call& call) {
  const Shape& scores = call.shape(0);
  const Shape& labels = call.shape(1);
  if (scores.rank() < 2) return fail("the scores {} need an axis of samples and one of classes", scores.text());
  Shape expected{scores[0]};
  for (int axis = 2; axis < scores.rank(); ++axis) expected.append(scores[axis]);
  if (labels != expected) {
    return fail("scores {} need labels {}, not {}", scores.text(), expected.text(), labels.text());
  }
  if (scores[1] == 0) return fail("there are no classes");
  if (call.has(2) && call.shape(2) != Shape{scores[1]}) {
    return fail("the weights {} must be one for each of the {} classes", call.shape(2).text(), scores[1]);
  }
  const bool reduced = call.text("reduction") != "none";
  if (call.text("reduction") == "mean" && labels.count() == 0) return fail("of no labels there is no mean");
  return Types{{call.dtype(0), reduced ? Shape{} : labels}};
}

struct LossTerm {
  double loss = 0;
  double slack = 0;
  double weight = 0;
};

bool is_ignored(const Call& call, std::int64_t label) {
  return call.attributes.has("ignore_index") && label == call.integer("ignore_index");
}

// The terms of the loss, in the order of the labels.
Result<std::vector<LossTerm>> terms_of(const Call& call, const WideTensor& log_probabilities, const WideTensor& labels,
                                       const WideTensor* weights) {
  const AxisView view(log_probabilities.shape, 1);
  std::vector<LossTerm> terms(labels.integers.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::int64_t label = labels.integers[i];
    if (is_ignored(call, label)) continue;
    if (label < 0 || label >= view.length) return fail("label {} is none of {} classes", label, view.length);
    const auto place = static_cast<std::int64_t>(i);
    const std::size_t at = view.index(place / view.inner, label, place % view.inner);
    LossTerm& term = terms[i];
    const auto c = static_cast<std::size_t>(label);
    term.weight = weights ? weights->reals[c] : 1;
    term.loss = -log_probabilities.reals[at] * term.weight;
    term.slack = log_probabilities.slack_at(at) * std::fabs(term.weight);
    if (!weights) continue;
    term.slack += kRounded.bound(term.loss, log_probabilities.dtype) +
                  weights->slack_at(c) * (std::fabs(log_probabilities.reals[at]) + log_probabilities.slack_at(at));
  }
  return terms;
}

Status loss_of(const Call& call, const WideTensor& log_probabilities, WideInputs in, WideTensor& y) {
  const WideTensor* weights = call.has(2) ? in[2] : nullptr;
  KW_TRY(const std::vector<LossTerm> terms, terms_of(call, log_probabilities, *in[1], weights));
  const std::string& reduction = call.text("reduction");
  if (reduction == "none") {
    if (weights || !log_probabilities.exact()) y.add_slack();
    for (std::size_t i = 0; i < terms.size(); ++i) {
      y.reals[i] = terms[i].loss;
      if (!y.exact()) y.slack[i] = terms[i].slack;
    }
    return {};
  }
  const DType working = working_type(y.dtype);
  const std::int64_t count = std::ssize(terms);
  double sum = 0, squares = 0, carried = 0, weight = 0, weight_squares = 0;
  for (const LossTerm& term : terms) {
    sum += term.loss;
    squares += term.loss * term.loss;
    carried += term.slack;
    weight += term.weight;
    weight_squares += term.weight * term.weight;
  }
  const double sum_slack = drawn_sum_bound(count, sum, squares, working) + carried;
  y.add_slack();
  y.reals[0] = sum;
  y.slack[0] = sum_slack;
  if (reduction == "mean") {
    const double weight_slack = weights ? drawn_sum_bound(count, weight, weight_squares, working) : 0;
    y.reals[0] = sum / weight;
    y.slack[0] = (sum_slack + weight_slack * std::fabs(y.reals[0])) / std::fabs(weight);
  }
  y.slack[0] += kRounded.bound(y.reals[0], y.dtype);
  return {};
}

// The logarithm of the softmax over the classes, as the operator LogSoftmax has it.
Result<WideTensor> log_softmax_over_classes(const Call& call, const WideTensor& scores) {
  Call inner;
  inner.op = find_op("LogSoftmax");
  inner.opset = std::max(call.opset, inner.op->since);
  inner.attributes.set("axis", std::int64_t{1});
  inner.inputs = {call.inputs[0]};
  inner.constants = {nullptr};
  inner.outputs = {*call.inputs[0]};
  std::vector<WideTensor> result{WideTensor(*call.inputs[0])};
  const WideTensor* const input = &scores;
  KW_CHECK(inner.op->reference(inner, WideInputs(&input, 1), result));
  return std::move(result[0]);
}

// The class with the largest score, for label `i`.
std::int64_t best_class(const Tensor& scores, std::int64_t i) {
  const AxisView view(scores.shape(), 1);
  std::int64_t best = 0;
  const auto score = [&](std::int64_t c) {
    return scores.real(static_cast<std::int64_t>(view.index(i / view.inner, c, i % view.inner)));
  };
  for (std::int64_t c = 1; c < view.length; ++c) {
    if (score(c) > score(best)) best = c;
  }
  return best;
}

// Labels are classes; where some may be ignored, one in eight is, but never the first. Now and then all of them are as
// the scores say.
void draw_labels(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  constexpr double kRightShare = 0.1;
  if (!inputs[1]) return;
  const std::int64_t classes = call.shape(0)[1];
  const bool all_right = input_class != InputClass::typical && inputs[0] && random.chance(kRightShare);
  for (std::int64_t i = 0; i < inputs[1]->count(); ++i) {
    std::int64_t label = all_right ? best_class(*inputs[0], i) : random.integer(0, classes - 1);
    if (input_class == InputClass::edges && !all_right) label = random.pick({std::int64_t{0}, classes - 1, label});
    if (is_ignored(call, label)) label = (label + 1) % classes;
    if (i > 0 && call.attributes.has("ignore_index") && !all_right && random.chance(0.125))
      label = call.integer("ignore_index");
    inputs[1]->set_integer(i, label);
  }
}

Sample sample_loss(Random& random) {
  Sample sample;
  Shape scores = sample_shape(random, 2, 4);
  if (scores[1] == 1) scores[1] = 5;
  Shape labels{scores[0]};
  for (int axis = 2; axis < scores.rank(); ++axis) labels.append(scores[axis]);
  const DType type = sample_type(random, {DType::float32, DType::float64});
  sample.input(type, scores).input(random.pick({DType::int64, DType::int32}), labels);
  if (random.chance(0.5)) sample.input(type, Shape{scores[1]});
  sample.attribute("reduction", random.pick({std::string("none"), std::string("sum"), std::string("mean")}));
  if (random.chance(0.5)) sample.attribute("ignore_index", random.integer(-1, scores[1] - 1));
  return sample;
}

Op loss_op(std::string name, std::string meaning, InputSpec scores) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 13;
  op.attributes = {{.name = "ignore_index"},
                   {.name = "reduction",
                    .kind = AttributeKind::text,
                    .fallback = std::string("mean"),
                    .choices = {"none", "sum", "mean"}}};
  op.inputs = {std::move(scores),
               {.name = "labels", .types = kIndex, .group = ""},
               {.name = "weights", .domain = {.low = 0.1, .high = 10}, .optional = true}};
  op.draw = draw_labels;
  op.sample = sample_loss;
  return op;
}

Op likelihood_op() {
  Op op = loss_op("NegativeLogLikelihoodLoss",
                  "minus the given logarithms of probability of the right classes, weighted, and their sum or mean",
                  {.name = "input", .domain = {.high = 0}});
  op.inputs[1].name = "target";
  op.inputs[2].name = "weight";
  op.outputs = {{"loss"}};
  op.infer = infer_loss;
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) {
    return loss_of(call, *in[0], in, out[0]);
  };
  op.flops = [](const Call& call) { return 3 * static_cast<double>(call.shape(1).count()); };
  // Of the logarithms only the right classes' are read.
  op.bytes = [](const Call& call) {
    const auto each = static_cast<double>(size_bytes(call.dtype(0)) + size_bytes(call.dtype(1)));
    return each * static_cast<double>(call.shape(1).count()) + bytes_of(call.outputs[0]) +
           (call.has(2) ? bytes_of(*call.inputs[2]) : 0);
  };
  return op;
}

Op cross_entropy_op() {
  Op op = loss_op("SoftmaxCrossEntropyLoss",
                  "minus the logarithms of the softmax of the scores at the right classes, weighted, and their sum or "
                  "mean; and all the logarithms",
                  {.name = "scores"});
  op.outputs = {{"output"}, {.name = "log_prob", .optional = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(Types types, infer_loss(call));
    types.push_back(*call.inputs[0]);
    return types;
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    KW_TRY(out[1], log_softmax_over_classes(call, *in[0]));
    return loss_of(call, out[1], in, out[0]);
  };
  op.flops = [](const Call& call) { return (kFunctionFlops + 4) * input_count(call); };
  op.sample = [](Random& random) {
    Sample sample = sample_loss(random);
    sample.outputs = static_cast<std::size_t>(random.integer(1, 2));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> loss() { return {likelihood_op(), cross_entropy_op()}; }

}  // namespace kw::ops::families
