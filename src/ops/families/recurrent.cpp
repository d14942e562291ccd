// Recurrent layers over a sequence: RNN, GRU and LSTM, in one or both directions.
//
// How far a right answer may be. A gate's input is a sum of n products, off by sum_bound(n). The activation passes that
// on by its own slope (we evaluate it at both ends), and the next step takes up the state's slack through R. There the
// slacks of different units are added as the root of their squares: they come from roundings that know nothing of each
// other. Added by their size they would grow by the square root of the hidden size in every step, and say nothing after
// ten.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

// A number with its slack.
struct Near {
  double value = 0;
  double slack = 0;
};

Near operator*(Near a, Near b) {
  return {a.value * b.value, std::fabs(a.value) * b.slack + std::fabs(b.value) * a.slack + a.slack * b.slack};
}
Near operator+(Near a, Near b) { return {a.value + b.value, a.slack + b.slack}; }

struct ActivationSpec {
  const char* name;
  double alpha;  // defaults; NaN: the function has no such parameter
  double beta;
  double (*f)(double x, double alpha, double beta);
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr ActivationSpec kActivations[] = {
    {"Relu", kNone, kNone, [](double x, double, double) { return std::max(x, 0.0); }},
    {"Tanh", kNone, kNone, [](double x, double, double) { return std::tanh(x); }},
    {"Sigmoid", kNone, kNone, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"Affine", 1, 0, [](double x, double alpha, double beta) { return alpha * x + beta; }},
    {"LeakyRelu", 0.01, kNone, [](double x, double alpha, double) { return x >= 0 ? x : alpha * x; }},
    {"ThresholdedRelu", 1, kNone, [](double x, double alpha, double) { return x >= alpha ? x : 0; }},
    {"ScaledTanh", 1, 1, [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }},
    {"HardSigmoid", 0.2, 0.5,
     [](double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }},
    {"Elu", 1, kNone, [](double x, double alpha, double) { return x >= 0 ? x : alpha * std::expm1(x); }},
    {"Softsign", kNone, kNone, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"Softplus", kNone, kNone,
     [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }},
};

struct Activation {
  const ActivationSpec* spec = nullptr;
  double alpha = 0;
  double beta = 0;
  double clip = INFINITY;

  Near operator()(Near x, DType working) const {
    const auto f = [&](double at) { return spec->f(std::clamp(at, -clip, clip), alpha, beta); };
    const double y = f(x.value);
    const double moved = std::max(std::fabs(f(x.value - x.slack) - y), std::fabs(f(x.value + x.slack) - y));
    return {y, moved + kFunctionAroundOne.bound(y, working)};
  }
};

// What one kind of layer is.
struct Layer {
  int gates;
  std::vector<std::string> activations;  // the defaults
  bool has_cell;                         // LSTM's second state, and its peepholes
};

// The sizes of a call, and where things lie.
struct Sizes {
  std::int64_t length, batch, input, hidden, directions;
  bool batch_first;

  std::size_t x(std::int64_t t, std::int64_t b) const {
    return static_cast<std::size_t>((batch_first ? b * length + t : t * batch + b) * input);
  }
  std::size_t y(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return static_cast<std::size_t>(
        (batch_first ? (b * length + t) * directions + d : (t * directions + d) * batch + b) * hidden);
  }
  std::size_t state(std::int64_t d, std::int64_t b) const {
    return static_cast<std::size_t>((batch_first ? b * directions + d : d * batch + b) * hidden);
  }
  Shape y_shape() const {
    return batch_first ? Shape{batch, length, directions, hidden} : Shape{length, directions, batch, hidden};
  }
  Shape state_shape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
};

Sizes sizes_of(const Call& call) {
  const Shape& x = call.shape(0);
  const bool batch_first = call.integer("layout") != 0;
  return {.length = x[batch_first ? 1 : 0],
          .batch = x[batch_first ? 0 : 1],
          .input = x[2],
          .hidden = call.shape(2)[2],
          .directions = call.text("direction") == "bidirectional" ? 2 : 1,
          .batch_first = batch_first};
}

enum RecurrentInput : std::size_t { kX, kW, kR, kB, kSequenceLens, kInitialH, kInitialC, kP };

Status check_shape_of(const Call& call, std::size_t input, const Shape& wanted) {
  if (!call.has(input) || call.shape(input) == wanted) return {};
  return fail("input '{}' must have shape {}, but has {}", call.op->inputs[input].name, wanted.text(),
              call.shape(input).text());
}

// The activations of all directions, direction by direction. alpha and beta are used up by the functions that have
// them.
Result<std::vector<Activation>> activations_of(const Call& call, const Layer& layer) {
  const std::size_t directions = call.text("direction") == "bidirectional" ? 2 : 1;
  std::vector<std::string> names;
  if (call.attributes.has("activations")) {
    names = call.attributes.texts("activations");
  } else {
    for (std::size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), layer.activations.begin(), layer.activations.end());
    }
  }
  if (names.size() != layer.activations.size() * directions) {
    return fail("activations must name {} functions, but names {}", layer.activations.size() * directions,
                names.size());
  }
  const auto parameters = [&](const char* name) {
    return call.attributes.has(name) ? call.attributes.reals(name) : std::vector<double>{};
  };
  const std::vector<double> alphas = parameters("activation_alpha");
  const std::vector<double> betas = parameters("activation_beta");
  auto alpha = alphas.begin();
  auto beta = betas.begin();
  std::vector<Activation> result;
  for (const std::string& name : names) {
    const auto spec =
        std::ranges::find_if(kActivations, [&](const ActivationSpec& known) { return known.name == name; });
    if (spec == std::end(kActivations)) return fail("there is no activation '{}'", name);
    Activation activation{.spec = &*spec, .alpha = spec->alpha, .beta = spec->beta};
    if (!std::isnan(spec->alpha) && alpha != alphas.end()) activation.alpha = *alpha++;
    if (!std::isnan(spec->beta) && beta != betas.end()) activation.beta = *beta++;
    // The sums that enter gates are clipped. The cell that enters LSTM's last function is not: ONNX's text leaves that
    // open, and onnxruntime decides it so.
    const bool of_sums = result.size() % layer.activations.size() < 2;
    if (of_sums && call.attributes.has("clip")) activation.clip = call.real("clip");
    result.push_back(activation);
  }
  return result;
}

Result<Types> infer_layer(const Call& call, const Layer& layer) {
  for (std::size_t i : {kX, kW, kR}) {
    if (call.shape(i).rank() != 3) {
      return fail("input '{}' must have 3 axes, but has shape {}", call.op->inputs[i].name, call.shape(i).text());
    }
  }
  const Sizes sizes = sizes_of(call);
  if (call.attributes.has("hidden_size") && call.integer("hidden_size") != sizes.hidden) {
    return fail("hidden_size is {}, but R is made for {}", call.integer("hidden_size"), sizes.hidden);
  }
  const std::int64_t rows = layer.gates * sizes.hidden;
  KW_CHECK(check_shape_of(call, kW, {sizes.directions, rows, sizes.input}));
  KW_CHECK(check_shape_of(call, kR, {sizes.directions, rows, sizes.hidden}));
  KW_CHECK(check_shape_of(call, kB, {sizes.directions, 2 * rows}));
  KW_CHECK(check_shape_of(call, kSequenceLens, {sizes.batch}));
  KW_CHECK(check_shape_of(call, kInitialH, sizes.state_shape()));
  if (layer.has_cell) {
    KW_CHECK(check_shape_of(call, kInitialC, sizes.state_shape()));
    KW_CHECK(check_shape_of(call, kP, {sizes.directions, 3 * sizes.hidden}));
  }
  if (call.attributes.has("clip") && !(call.real("clip") >= 0)) return fail("clip must not be negative");
  KW_CHECK(activations_of(call, layer));
  Types types{{call.dtype(0), sizes.y_shape()}, {call.dtype(0), sizes.state_shape()}};
  if (layer.has_cell) types.push_back({call.dtype(0), sizes.state_shape()});
  return types;
}

// The weights and state of one direction of one sequence, and how a step computes with them.
class Walker {
 public:
  Walker(const Call& call, const Layer& layer, WideInputs in, std::int64_t direction, std::int64_t sequence)
      : call_(call), layer_(layer), in_(in), sizes_(sizes_of(call)), direction_(direction), sequence_(sequence) {
    const auto all = *activations_of(call, layer);
    const std::size_t own = layer.activations.size();
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(own * static_cast<std::size_t>(direction));
    activations_.assign(first, first + static_cast<std::ptrdiff_t>(own));
    h = state_from(kInitialH);
    if (layer.has_cell) c = state_from(kInitialC);
  }

  std::vector<Near> h;
  std::vector<Near> c;

  void step(std::int64_t t) {
    t_ = t;
    const std::vector<Near> before = h;
    switch (layer_.gates) {
      case 1:
        for (std::int64_t k = 0; k < sizes_.hidden; ++k) at(h, k) = activate(0, gate(0, k, before));
        return;
      case 3:
        return step_gru(before);
      default:
        return step_lstm(before);
    }
  }

 private:
  static Near& at(std::vector<Near>& values, std::int64_t k) { return values[static_cast<std::size_t>(k)]; }
  static Near at(const std::vector<Near>& values, std::int64_t k) { return values[static_cast<std::size_t>(k)]; }

  const WideTensor* input(std::size_t i) const { return call_.has(i) ? in_[i] : nullptr; }
  static Near near(const WideTensor* tensor, std::size_t i) {
    return tensor ? Near{tensor->reals[i], tensor->slack_at(i)} : Near{};
  }
  std::vector<Near> state_from(std::size_t initial) const {
    std::vector<Near> state(static_cast<std::size_t>(sizes_.hidden));
    const std::size_t first = sizes_.state(direction_, sequence_);
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = near(input(initial), first + k);
    return state;
  }
  Near activate(std::size_t which, Near x) const { return activations_[which](x, working()); }
  DType working() const { return working_type(in_[kX]->dtype); }
  Near rounded(Near x) const { return {x.value, x.slack + kRounded.bound(x.value, working())}; }
  Near less_than_one(Near x) const { return rounded({1 - x.value, x.slack}); }

  std::size_t row(std::int64_t g, std::int64_t k) const {
    return static_cast<std::size_t>((direction_ * layer_.gates + g) * sizes_.hidden + k);
  }
  // Of W (half 0) or of R (half 1).
  Near bias(int half, std::int64_t g, std::int64_t k) const {
    return near(input(kB), static_cast<std::size_t>(((direction_ * 2 + half) * layer_.gates + g) * sizes_.hidden + k));
  }

  // A sum of products in the making.
  struct Sum {
    double value = 0;
    double magnitude = 0;
    double squares = 0;  // of the slacks of the terms
    std::int64_t terms = 0;

    void add(double factor, double factor_slack, double x, double x_slack) {
      const double slack = std::fabs(factor) * x_slack + std::fabs(x) * factor_slack;
      value += factor * x;
      magnitude += std::fabs(factor * x);
      squares += slack * slack;
      ++terms;
    }
    void add(Near term) { add(1, 0, term.value, term.slack); }
    Near total(DType dtype) const { return {value, sum_bound(terms, magnitude, dtype) + std::sqrt(squares)}; }
  };

  void add_input(Sum& sum, std::int64_t g, std::int64_t k) const {
    const WideTensor& x = *in_[kX];
    const WideTensor& w = *in_[kW];
    const std::size_t first = row(g, k) * static_cast<std::size_t>(sizes_.input);
    const std::size_t from = sizes_.x(t_, sequence_);
    for (std::size_t i = 0; i < static_cast<std::size_t>(sizes_.input); ++i) {
      sum.add(w.reals[first + i], w.slack_at(first + i), x.reals[from + i], x.slack_at(from + i));
    }
  }
  void add_state(Sum& sum, std::int64_t g, std::int64_t k, const std::vector<Near>& state) const {
    const WideTensor& r = *in_[kR];
    const std::size_t first = row(g, k) * state.size();
    for (std::size_t i = 0; i < state.size(); ++i) {
      sum.add(r.reals[first + i], r.slack_at(first + i), state[i].value, state[i].slack);
    }
  }
  // W x + R h + both biases, and what else is to be added.
  Near gate(std::int64_t g, std::int64_t k, const std::vector<Near>& state, Near more = {}) const {
    Sum sum;
    add_input(sum, g, k);
    add_state(sum, g, k, state);
    sum.add(bias(0, g, k));
    sum.add(bias(1, g, k));
    sum.add(more);
    return sum.total(working());
  }

  void step_gru(const std::vector<Near>& before) {
    constexpr int kUpdate = 0, kReset = 1, kHidden = 2;
    std::vector<Near> reset(before.size());
    std::vector<Near> scaled(before.size());
    for (std::int64_t k = 0; k < sizes_.hidden; ++k) {
      at(reset, k) = activate(0, gate(kReset, k, before));
      at(scaled, k) = rounded(at(reset, k) * at(before, k));
    }
    const bool linear_before_reset = call_.integer("linear_before_reset") != 0;
    for (std::int64_t k = 0; k < sizes_.hidden; ++k) {
      const Near update = activate(0, gate(kUpdate, k, before));
      const Near fresh =
          activate(1, linear_before_reset ? reset_gate(kHidden, k, before, at(reset, k)) : gate(kHidden, k, scaled));
      at(h, k) = mix(update, fresh, at(before, k));
    }
  }
  // (1 - z) fresh + z old. Slack in z moves the result by fresh - old only.
  Near mix(Near z, Near fresh, Near old) const {
    const double kept = std::fabs(z.value) + z.slack;
    const double added = std::fabs(1 - z.value) + z.slack;
    return rounded(rounded({(1 - z.value) * fresh.value + z.value * old.value,
                            added * fresh.slack + kept * old.slack + z.slack * std::fabs(fresh.value - old.value) +
                                4 * unit_roundoff(working()) * (std::fabs(fresh.value) + std::fabs(old.value))}));
  }
  // W x + r (R h + its bias) + the bias of W.
  Near reset_gate(std::int64_t g, std::int64_t k, const std::vector<Near>& state, Near reset) const {
    Sum recurrent;
    add_state(recurrent, g, k, state);
    recurrent.add(bias(1, g, k));
    Sum sum;
    add_input(sum, g, k);
    sum.add(rounded(reset * recurrent.total(working())));
    sum.add(bias(0, g, k));
    return sum.total(working());
  }

  void step_lstm(const std::vector<Near>& before) {
    constexpr int kIn = 0, kOut = 1, kForget = 2, kCell = 3;
    const std::vector<Near> cell_before = c;
    for (std::int64_t k = 0; k < sizes_.hidden; ++k) {
      const Near old = at(cell_before, k);
      const Near in = activate(0, gate(kIn, k, before, peephole(kIn, k) * old));
      const Near forget = call_.integer("input_forget") != 0
                              ? less_than_one(in)
                              : activate(0, gate(kForget, k, before, peephole(kForget, k) * old));
      const Near fresh = activate(1, gate(kCell, k, before));
      const Near cell = rounded(rounded(forget * old) + rounded(in * fresh));
      const Near out = activate(0, gate(kOut, k, before, peephole(kOut, k) * cell));
      at(c, k) = cell;
      at(h, k) = rounded(out * activate(2, cell));
    }
  }
  // P holds the gates in W's order, without the cell's.
  Near peephole(std::int64_t g, std::int64_t k) const {
    return near(input(kP), static_cast<std::size_t>((direction_ * 3 + g) * sizes_.hidden + k));
  }

  const Call& call_;
  const Layer& layer_;
  WideInputs in_;
  Sizes sizes_;
  std::int64_t direction_;
  std::int64_t sequence_;
  std::int64_t t_ = 0;
  std::vector<Activation> activations_;
};

void put(const std::vector<Near>& state, std::size_t first, WideTensor& tensor) {
  for (std::size_t k = 0; k < state.size(); ++k) {
    tensor.reals[first + k] = state[k].value;
    tensor.slack[first + k] = state[k].slack + kRounded.bound(state[k].value, tensor.dtype);
  }
}

Result<std::vector<std::int64_t>> lengths_of(const Call& call, WideInputs in) {
  const Sizes sizes = sizes_of(call);
  if (!call.has(kSequenceLens)) return std::vector<std::int64_t>(static_cast<std::size_t>(sizes.batch), sizes.length);
  for (std::int64_t length : in[kSequenceLens]->integers) {
    if (length < 0 || length > sizes.length) {
      return fail("sequence_lens holds {}, which is not between 0 and {}", length, sizes.length);
    }
  }
  return in[kSequenceLens]->integers;
}

// A sequence ends at its own length, for both directions: Y is zero behind it, Y_h and Y_c are the last step's.
Status run_layer(const Call& call, const Layer& layer, WideInputs in, std::span<WideTensor> out) {
  const Sizes sizes = sizes_of(call);
  KW_TRY(const std::vector<std::int64_t> lengths, lengths_of(call, in));
  for (WideTensor& tensor : out) tensor.add_slack();
  for (std::int64_t d = 0; d < sizes.directions; ++d) {
    const bool backward = d == 1 || call.text("direction") == "reverse";
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      Walker walker(call, layer, in, d, b);
      const std::int64_t length = lengths[static_cast<std::size_t>(b)];
      for (std::int64_t step = 0; step < length; ++step) {
        const std::int64_t t = backward ? length - 1 - step : step;
        walker.step(t);
        put(walker.h, sizes.y(t, d, b), out[0]);
      }
      put(walker.h, sizes.state(d, b), out[1]);
      if (layer.has_cell) put(walker.c, sizes.state(d, b), out[2]);
    }
  }
  return {};
}

// Keeps the weights at the size that makes a layer neither deaf nor chaotic: the sum over a row of about 1. Smaller
// ones stay as they are. Lengths differ within the batch.
void draw_layer(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  for (std::size_t i : {kW, kR}) {
    Tensor* weights = inputs[i];
    if (!weights || weights->count() == 0) continue;
    double squares = 0;
    for (std::int64_t k = 0; k < weights->count(); ++k) squares += weights->real(k) * weights->real(k);
    const double root_mean_square = std::sqrt(squares / static_cast<double>(weights->count()));
    const double most = 1 / std::sqrt(static_cast<double>(weights->shape()[2]));
    if (root_mean_square <= most) continue;
    for (std::int64_t k = 0; k < weights->count(); ++k)
      weights->set_real(k, weights->real(k) * most / root_mean_square);
  }
  if (inputs[0] && input_class != InputClass::typical && inputs[0]->count() > 0) {
    // Now and then all steps are alike, or nothing comes in.
    const double chosen = random.unit();
    const std::int64_t step = inputs[0]->count() / std::max<std::int64_t>(inputs[0]->shape()[0], 1);
    for (std::int64_t i = 0; i < inputs[0]->count() && chosen < 0.2; ++i) {
      inputs[0]->set_real(i, chosen < 0.1 ? 0 : inputs[0]->real(i % step));
    }
  }
  if (kSequenceLens >= inputs.size() || !inputs[kSequenceLens]) return;
  Tensor& lengths = *inputs[kSequenceLens];
  const std::int64_t longest = sizes_of(call).length;
  for (std::int64_t b = 0; b < lengths.count(); ++b) {
    const bool shortest = input_class == InputClass::edges && random.chance(0.3);
    lengths.set_integer(
        b, shortest ? std::min<std::int64_t>(1, longest) : random.integer(std::min<std::int64_t>(1, longest), longest));
  }
}

// Gates are bounded, or the state explodes; ThresholdedRelu's step would make the answer a matter of rounding.
void sample_activations(Random& random, const Layer& layer, std::size_t directions, Sample& sample) {
  std::vector<std::string> names;
  std::vector<double> alphas;
  std::vector<double> betas;
  while (names.size() < layer.activations.size() * directions) {
    const ActivationSpec& spec = random.pick(kActivations);
    const std::string_view name = spec.name;
    const bool gate = layer.gates > 1 && names.size() % layer.activations.size() == 0;
    const bool bounded = name == "Sigmoid" || name == "HardSigmoid" || name == "Tanh" || name == "Softsign";
    if (name == "ThresholdedRelu" || (gate && !bounded)) continue;
    names.emplace_back(name);
    if (!std::isnan(spec.alpha)) alphas.push_back(random.uniform(0.2, 0.9));
    if (!std::isnan(spec.beta)) betas.push_back(random.uniform(0.2, 0.6));
  }
  sample.attribute("activations", names);
  if (!alphas.empty()) sample.attribute("activation_alpha", alphas);
  if (!betas.empty()) sample.attribute("activation_beta", betas);
}

Sample sample_layer(Random& random, const Layer& layer) {
  Sample sample;
  const std::int64_t length = random.integer(1, 6);
  const std::int64_t batch = random.integer(1, 3);
  const std::int64_t input = random.pick({1, 3, 8, 11});
  const std::int64_t hidden = random.pick({1, 4, 7, 16});
  const std::int64_t directions = random.chance(0.3) ? 2 : 1;
  sample.attribute("hidden_size", hidden);
  if (directions == 2) {
    sample.attribute("direction", std::string("bidirectional"));
  } else if (random.chance(0.4)) {
    sample.attribute("direction", std::string("reverse"));
  }
  sample.input(DType::float32, {length, batch, input});
  sample.input(DType::float32, {directions, layer.gates * hidden, input});
  sample.input(DType::float32, {directions, layer.gates * hidden, hidden});
  const auto maybe = [&](DType dtype, const Shape& shape) {
    if (random.chance(0.5)) {
      sample.input(dtype, shape);
    } else {
      sample.absent();
    }
  };
  maybe(DType::float32, {directions, 2 * layer.gates * hidden});
  maybe(DType::int32, {batch});
  maybe(DType::float32, {directions, batch, hidden});
  if (layer.has_cell) {
    maybe(DType::float32, {directions, batch, hidden});
    maybe(DType::float32, {directions, 3 * hidden});
  }
  if (layer.gates == 3) sample.attribute("linear_before_reset", random.integer(0, 1));
  if (layer.has_cell && random.chance(0.2)) sample.attribute("input_forget", std::int64_t{1});
  if (random.chance(0.2)) sample.attribute("clip", random.uniform(0.5, 2));
  if (random.chance(0.4)) sample_activations(random, layer, static_cast<std::size_t>(directions), sample);
  sample.outputs = static_cast<std::size_t>(random.integer(1, layer.has_cell ? 3 : 2));
  return sample;
}

Op recurrent_op(std::string name, std::string meaning, Layer layer) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 14;
  op.attributes = {{.name = "activation_alpha", .kind = AttributeKind::reals},
                   {.name = "activation_beta", .kind = AttributeKind::reals},
                   {.name = "activations", .kind = AttributeKind::texts},
                   {.name = "clip", .kind = AttributeKind::real},
                   {.name = "direction",
                    .kind = AttributeKind::text,
                    .fallback = std::string("forward"),
                    .choices = {"forward", "reverse", "bidirectional"}},
                   {.name = "hidden_size"},
                   {.name = "layout", .fallback = std::int64_t{0}}};
  if (layer.gates == 3) op.attributes.push_back({.name = "linear_before_reset", .fallback = std::int64_t{0}});
  if (layer.has_cell) op.attributes.push_back({.name = "input_forget", .fallback = std::int64_t{0}});
  op.inputs = {{.name = "X"},
               {.name = "W"},
               {.name = "R"},
               {.name = "B", .optional = true},
               {.name = "sequence_lens", .types = {DType::int32}, .group = "", .optional = true},
               {.name = "initial_h", .optional = true}};
  op.outputs = {{.name = "Y", .optional = true}, {.name = "Y_h", .optional = true}};
  if (layer.has_cell) {
    op.inputs.push_back({.name = "initial_c", .optional = true});
    op.inputs.push_back({.name = "P", .optional = true});
    op.outputs.push_back({.name = "Y_c", .optional = true});
  }
  // Larger inputs only saturate the gates.
  for (InputSpec& input : op.inputs) input.domain.far = 20;
  op.infer = [layer](const Call& call) { return infer_layer(call, layer); };
  op.reference = [layer](const Call& call, WideInputs in, std::span<WideTensor> out) {
    return run_layer(call, layer, in, out);
  };
  op.flops = [layer](const Call& call) {
    const Sizes sizes = sizes_of(call);
    const auto steps = static_cast<double>(sizes.length * sizes.batch * sizes.directions);
    const auto units = static_cast<double>(layer.gates * sizes.hidden);
    return steps * units * (2 * static_cast<double>(sizes.input + sizes.hidden) + kFunctionFlops + 2);
  };
  op.draw = draw_layer;
  op.sample = [layer](Random& random) { return sample_layer(random, layer); };
  return op;
}

}  // namespace

std::vector<Op> recurrent() {
  return {recurrent_op("RNN", "a recurrent layer: the state is a function of the input and the state before",
                       {.gates = 1, .activations = {"Tanh"}, .has_cell = false}),
          recurrent_op("GRU", "a gated recurrent layer: an update and a reset gate decide what of the state stays",
                       {.gates = 3, .activations = {"Sigmoid", "Tanh"}, .has_cell = false}),
          recurrent_op("LSTM", "a long short-term memory: gates decide what enters, stays in and leaves a cell",
                       {.gates = 4, .activations = {"Sigmoid", "Tanh", "Tanh"}, .has_cell = true})};
}

}  // namespace kw::ops::families
