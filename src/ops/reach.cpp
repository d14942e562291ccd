#include "ops/reach.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace kw::ops {
namespace {

// Formulas may pass through some hundred times their argument.
constexpr double kHeadroom = 8;
// A function of one element that says what infinity gives passes through little more than its argument.
constexpr double kHeadroomOfOne = 2;
// The powers of two that an input without limits spans; or all that are below.
constexpr double kWindow = 40;
constexpr double kNarrowWindow = 20;
constexpr double kNarrowShare = 0.3;
// While one input is anywhere, others are no larger than this.
constexpr double kOthersHigh = 6;
// Sums of results below this are no longer normal in one order and lost in another.
constexpr double kLowestWindow = -80;

// Of all elements: very small ones among typical ones, and large ones.
constexpr double kSmallShare = 0.5, kLargeShare = 0.6;
constexpr double kDozen = 12;
constexpr double kScaledWindow = 10;
// Up to here typical elements count beside a large one in a sum, and from lowest_alone() on none does. In between they
// are lost in one order and not in another.
constexpr double kHighestNear = 19;
// Factors that are typical are no larger than this, a deviation's inverse no larger than that.
constexpr double kTypicalHigh = 4, kInverseHigh = 10;

// Operators whose result is proportional to these inputs, or bounded however large they are: a sum of products in which
// each occurs once. Those that add magnitudes (ReduceL1) are not among them: many small terms of one sign get lost
// beside a large one, and honest orders of summation differ by that.
const std::set<std::size_t>* proportional_inputs(const std::string& op) {
  static const std::map<std::string, std::set<std::size_t>> kInputs = {
      {"AveragePool", {0}}, {"Conv", {0, 1}},           {"ConvTranspose", {0, 1}}, {"CumSum", {0}},
      {"Gemm", {0, 1, 2}},  {"GlobalAveragePool", {0}}, {"GridSample", {0}},       {"LeakyRelu", {0}},
      {"LogSoftmax", {0}},  {"MatMul", {0, 1}},         {"PRelu", {0, 1}},         {"ReduceLogSumExp", {0}},
      {"ReduceMean", {0}},  {"ReduceSum", {0}},         {"Resize", {0}},           {"RoiAlign", {0}},
      {"Softmax", {0}},
  };
  const auto found = kInputs.find(op);
  return found == kInputs.end() ? nullptr : &found->second;
}

const InputSpec& spec_of(const GraphNode& node, std::size_t input) {
  const auto& specs = node.call.op->inputs;
  return specs[std::min(input, specs.size() - 1)];
}

// Whether all inputs of a float type, as far as there are any, may have something.
bool all_may(const GraphNode& node, bool Domain::*have) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.call.has(i) || !is_float(node.call.dtype(i))) continue;
    if (node.inputs[i] >= 0 && !(spec_of(node, i).domain.*have)) return false;
  }
  return true;
}

bool has_ends(const GraphNode& node) { return all_may(node, &Domain::infinities); }

bool copies(const GraphNode& node) { return node.call.op->flops(node.call) == 0; }

// It gives its inputs' own elements, or rounds once where there is one way to: of finite numbers, whatever their size.
bool moves(const GraphNode& node) {
  static const std::set<std::string> kRoundOnce = {
      "Abs",           "Add",       "ArgMax",         "ArgMin",    "Ceil",        "Clip", "Div",     "Equal", "Floor",
      "GlobalMaxPool", "Greater",   "GreaterOrEqual", "Less",      "LessOrEqual", "Max",  "MaxPool", "Min",   "Mul",
      "Neg",           "ReduceMax", "Relu",           "ReduceMin", "Round",       "Sign", "Sub"};
  return copies(node) || kRoundOnce.contains(node.call.op->name);
}

// Whether an input may be of any size: all that is computed from it is one result that is proportional to it, moved.
bool may_be_anywhere(const Graph& graph, int slot) {
  std::set<int> from = {slot};
  int computed = 0;
  for (const GraphNode& node : graph.nodes) {
    bool depends = false;
    const std::set<std::size_t>* proportional = proportional_inputs(node.call.op->name);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!from.contains(node.inputs[i])) continue;
      if (depends && !copies(node)) return false;  // by two of its inputs
      depends = true;
      if (!copies(node) && (proportional == nullptr || !proportional->contains(i))) return false;
    }
    if (!depends && !copies(node)) return false;
    if (depends) from.insert(node.outputs.begin(), node.outputs.end());
    computed += !copies(node);
  }
  return computed <= 1;
}

const Domain& domain_of(const Graph& graph, int slot) {
  static const Domain kAnywhere;
  for (const GraphNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == slot) return spec_of(node, i).domain;
    }
  }
  return kAnywhere;
}

// A function that grows no faster than its argument, whatever size that has: every honest kernel of it follows.
bool grows_slowly(const std::string& op) {
  static const std::set<std::string> kFunctions = {
      "Abs",   "Add",       "Ceil",      "Celu",      "Clip",       "DynamicQuantizeLinear",
      "Elu",   "Floor",     "Gelu",      "HardSwish", "LeakyRelu",  "GlobalMaxPool",
      "Max",   "MaxPool",   "Min",       "Mish",      "LogSoftmax", "ReduceLogSumExp",
      "Neg",   "ReduceMax", "ReduceMin", "Relu",      "Round",      "ThresholdedRelu",
      "Selu",  "Shrink",    "Softplus",  "Sqrt",      "Sub",        "Sum",
      "Swish", "TopK"};
  return kFunctions.contains(op);
}

// What it gives has a size of its own, however large its argument is.
bool is_bounded(const std::string& op) {
  static const std::set<std::string> kFunctions = {"ArgMax",  "ArgMin",      "Atan",    "Erf",
                                                   "Hardmax", "HardSigmoid", "Sigmoid", "QuantizeLinear",
                                                   "Softmax", "Softsign",    "Sign",    "Tanh"};
  return kFunctions.contains(op);
}

bool is_recurrent(const std::string& op) { return op == "GRU" || op == "LSTM" || op == "RNN"; }

// It adds elements up, each times 1 or less.
bool only_adds(const std::string& op) {
  static const std::set<std::string> kFunctions = {"AveragePool", "CumSum", "GlobalAveragePool", "ReduceMean",
                                                   "ReduceSum"};
  return kFunctions.contains(op);
}

// It sums squares of its first input, and what it gives has a size of its own.
bool normalises(const GraphNode& node) {
  static const std::set<std::string> kNorms = {
      "GroupNormalization", "InstanceNormalization",     "LayerNormalization", "LRN",
      "LpNormalization",    "MeanVarianceNormalization", "RMSNormalization"};
  const std::string& name = node.call.op->name;
  return kNorms.contains(name) || (name == "BatchNormalization" && node.call.integer("training_mode") != 0);
}

double log2_of(double count) { return std::log2(std::max(count, 1.0)); }

// What is computed from an input whose elements are about 2^e is about 2^(power * e + more).
struct Growth {
  double power = 1;
  double more = 0;
  bool spread = false;  // more elements of it are large than of the input
};

// The largest power of two that elements of an input may have while others are typical, so that nothing that is
// computed from it leaves the type in any order. `large`: how many elements may be so large. None: one of the operators
// is not known to follow.
std::optional<double> highest_alone(const Graph& graph, int slot, double large) {
  const double most = std::floor(std::log2(largest_finite(graph.inputs[static_cast<std::size_t>(slot)].type.dtype)));
  std::map<int, Growth> growth = {{slot, {}}};
  double top = most - 1;
  const auto limit = [&](const Growth& one) { top = std::min(top, (most - 1 - one.more) / one.power); };
  for (const GraphNode& node : graph.nodes) {
    const std::string& name = node.call.op->name;
    const std::set<std::size_t>* proportional = proportional_inputs(name);
    Growth from{.power = 0}, product{.power = 0};
    int dependent = 0;
    std::size_t which = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = growth.find(node.inputs[i]);
      if (found == growth.end()) continue;
      const Growth& one = found->second;
      from = {std::max(from.power, one.power), std::max(from.more, one.more), from.spread || one.spread};
      product = {product.power + one.power, product.more + one.more, true};
      which = i;
      ++dependent;
    }
    if (dependent == 0) continue;
    const double outputs = std::max(output_count(node.call), 1.0);
    double terms = log2_of(node.call.op->flops(node.call) / outputs);
    if (!from.spread) terms = std::min(terms, log2_of(large));
    const Growth squared{2 * from.power, 2 * from.more + terms + kTypicalHigh, true};
    Growth after = from;
    after.spread = from.spread || !copies(node);
    if (copies(node)) {
    } else if (grows_slowly(name)) {
      after.more += 2;
    } else if (is_bounded(name)) {
      limit(after);
      continue;
    } else if (is_recurrent(name) && which == 0 && dependent == 1) {
      const Shape& shape = node.call.shape(0);
      after.more += log2_of(static_cast<double>(shape[shape.rank() - 1])) + kTypicalHigh;
      limit(after);
      continue;
    } else if (normalises(node) && which == 0) {
      limit(squared);
      continue;
    } else if (name == "ReduceL2") {
      limit(squared);
      after.more += terms;
    } else if (name == "LpPool") {
      const auto p = static_cast<double>(node.call.integer("p"));
      limit({p * from.power, p * from.more + terms, true});
      after.more += terms;
    } else if (name == "ReduceSumSquare") {
      after = squared;
    } else if (name == "ReduceL1" || (only_adds(name) && which == 0)) {
      after.more += terms;
    } else if (name == "BatchNormalization" && which == 0) {
      after.more += kTypicalHigh + kInverseHigh;
    } else if (name == "Mul" && dependent == 2) {
      after = product;
    } else if (dependent == 1 &&
               (name == "Mul" || name == "Einsum" || (proportional && proportional->contains(which)))) {
      after.more += terms + kTypicalHigh;
    } else if (dependent == 1 && which == 0 && name == "Div") {
      after.more += kInverseHigh;
    } else if (dependent == 2 && name == "Div") {
      // Of two that grow alike: it has a size of its own.
      limit(after);
      continue;
    } else {
      return std::nullopt;
    }
    limit(after);
    for (const int output : node.outputs) growth[output] = after;
  }
  return top;
}

// Beyond some number its first reader makes no sense of it (an angle); sums of products and powers do, as far as they
// stay in the type.
bool has_far_end(const Graph& graph, int slot) {
  if (domain_of(graph, slot).far >= Domain().far) return false;
  for (const GraphNode& node : graph.nodes) {
    const std::string& name = node.call.op->name;
    const std::set<std::size_t>* proportional = proportional_inputs(name);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != slot) continue;
      const bool saturates = is_recurrent(name);
      return name != "LpPool" && !saturates && (proportional == nullptr || !proportional->contains(i));
    }
  }
  return true;
}

struct Ends {
  double least, most;
};

Ends ends_of(DType dtype) {
  return {std::log2(smallest_subnormal(dtype)), std::floor(std::log2(largest_finite(dtype)))};
}

// Whether any finite numbers make sense.
bool takes_all(const Graph& graph) {
  if (graph.nodes.size() == 1 && moves(graph.nodes[0])) return true;
  return std::ranges::all_of(graph.nodes, has_ends);
}

// Of all inputs at once: the product of three such numbers, or of two in each of several nodes, must not overflow in
// one honest order and be a number in another.
Reach cautious(const Graph& graph, const Domain& domain, DType dtype) {
  const auto [least, most] = ends_of(dtype);
  if (takes_all(graph)) {
    if (graph.nodes.size() == 1 && moves(graph.nodes[0])) return {least, most};
    return {least, most - (graph.nodes.size() == 1 && graph.inputs.size() == 1 ? kHeadroomOfOne : kHeadroom)};
  }
  const double part = (most - kHeadroom) / 3 / static_cast<double>(std::max<std::size_t>(graph.nodes.size(), 1));
  // A function of one element meets no other.
  const bool alone =
      graph.nodes.size() == 1 && graph.inputs.size() == 1 &&
      graph.inputs[0].type.shape.count() == graph.output_type(0).shape.count() &&
      graph.nodes[0].call.op->flops(graph.nodes[0].call) <= 4 * kFunctionFlops * input_count(graph.nodes[0].call);
  return {alone && proportional_inputs(graph.nodes[0].call.op->name) == nullptr ? least : -part,
          domain.far < Domain().far ? std::min(part, std::log2(domain.far)) : part};
}

// From here on the typical elements of any sum are lost beside a large one, whichever way they are added up.
double lowest_alone(const Graph& graph) {
  double longest = 1;
  for (const TensorType& type : graph.types) longest = std::max(longest, static_cast<double>(type.shape.count()));
  return 28 + log2_of(longest) / 2;
}

// What wide draws take turns in: all inputs as far as they may be at once; very small elements in all of them; and of
// one input elements that are rather large, all larger than usual, or some very large, a dozen of these or one alone.
enum class Turn { all, small, near, larger, large, small_again, large_again, larger_again, dozen, alone };
constexpr std::uint64_t kTurns = 10;

// Of one input large elements among typical ones, or larger ones throughout, while others are typical. None: it cannot.
std::optional<Reach> large_ones(const Graph& graph, std::size_t input, Turn turn, Random& random) {
  const GraphInput& one = graph.inputs[input];
  const bool free = one.role == Role::input || one.role == Role::weight;
  if (!free || !is_float(one.type.dtype)) return std::nullopt;
  if (has_far_end(graph, static_cast<int>(input))) return std::nullopt;
  const auto count = static_cast<double>(one.type.shape.count());
  const bool larger = turn == Turn::larger || turn == Turn::larger_again;
  const double elements = larger                ? count
                          : turn == Turn::alone ? 1
                          : turn == Turn::dozen ? std::min(kDozen, count)
                                                : std::ceil(kLargeShare * count);
  const auto top = highest_alone(graph, static_cast<int>(input), std::max(elements, 1.0));
  const double least = lowest_alone(graph);
  if (!top || *top <= kHighestNear) return std::nullopt;
  const auto few = static_cast<std::int64_t>(elements);
  if (turn == Turn::near) return Reach{.low = -1, .high = kHighestNear, .few = few};
  if (larger) {
    const double highest = std::max(std::min(least, *top - 1) - kScaledWindow, kHighestNear - kScaledWindow);
    const double low = random.uniform(kHighestNear - kScaledWindow, highest);
    return Reach{.low = low, .high = low + kScaledWindow};
  }
  if (*top <= least) return std::nullopt;
  // One alone covers little: it is where more of them could not be.
  return Reach{.low = turn == Turn::alone ? std::max(least, *top - kDozen) : least, .high = *top - 1, .few = few};
}

// Very small elements among typical ones.
std::vector<Reach> small_ones(const Graph& graph) {
  std::vector<Reach> reaches(graph.inputs.size(), Reach{.few = 0});
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const TensorType& type = graph.inputs[i].type;
    if (!is_float(type.dtype)) continue;
    const double few = std::ceil(kSmallShare * static_cast<double>(type.shape.count()));
    reaches[i] = {.low = ends_of(type.dtype).least, .high = 0, .few = static_cast<std::int64_t>(few)};
  }
  return reaches;
}

// None: it is the turn of all inputs at once.
std::optional<std::vector<Reach>> some_far(const Graph& graph, std::uint64_t turn, bool weights, Random& random) {
  const auto kind = static_cast<Turn>(turn % kTurns);
  if (kind == Turn::all) return std::nullopt;
  if (kind == Turn::small || kind == Turn::small_again) return small_ones(graph);
  std::vector<std::pair<std::size_t, Reach>> able;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!weights && graph.inputs[i].role == Role::weight) continue;
    if (const auto reach = large_ones(graph, i, kind, random)) able.emplace_back(i, *reach);
  }
  if (able.empty()) return random.chance(0.5) ? std::optional(small_ones(graph)) : std::nullopt;
  // Every other round is the first one's: weights may be many.
  const std::uint64_t round = turn / kTurns;
  const std::size_t others = std::max<std::size_t>(able.size() - 1, 1);
  const auto& [input, reach] = able[round % 2 == 0 || able.size() == 1 ? 0 : 1 + round / 2 % others];
  std::vector<Reach> reaches(graph.inputs.size(), Reach{.few = 0});
  reaches[input] = reach;
  return reaches;
}

}  // namespace

Patterns patterns_of(const Graph& graph) {
  const bool elementwise = takes_all(graph);
  const auto convolves = [](const GraphNode& node) { return node.call.op->name.starts_with("Conv"); };
  return {.equal = elementwise || std::ranges::all_of(graph.nodes,
                                                      [](const GraphNode& node) {
                                                        return has_ends(node) ||
                                                               proportional_inputs(node.call.op->name) != nullptr;
                                                      }),
          .one_sign = elementwise,
          .zeros = elementwise ||
                   std::ranges::all_of(
                       graph.nodes,
                       [](const GraphNode& node) {
                         // Not where zeros become equal terms of a long sum, which drifts.
                         static const std::set<std::string> kSensitive = {"LogSoftmax", "ReduceLogSumExp", "Softmax"};
                         static const std::set<std::string> kRecurrent = {"GRU", "LSTM", "RNN"};
                         const std::string& name = node.call.op->name;
                         if (kSensitive.contains(name)) return false;
                         return moves(node) || proportional_inputs(name) != nullptr || kRecurrent.contains(name);
                       }),
          // Minimal filtering makes something of the rounding of very small terms that nothing larger hides.
          .zeros_among_small = std::ranges::none_of(graph.nodes, convolves),
          .nans = graph.nodes.size() == 1 || std::ranges::all_of(graph.nodes, [](const GraphNode& node) {
                    return copies(node) || all_may(node, &Domain::nans);
                  })};
}

std::vector<Reach> draw_reaches(const Graph& graph, std::uint64_t turn, Random& random, bool weights) {
  std::vector<Reach> reaches(graph.inputs.size());
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const GraphInput& input = graph.inputs[i];
    if (!is_float(input.type.dtype)) continue;
    reaches[i] = cautious(graph, domain_of(graph, static_cast<int>(i)), input.type.dtype);
    const bool drawn = weights || input.role != Role::weight;
    if (drawn && may_be_anywhere(graph, static_cast<int>(i))) free.push_back(i);
  }
  if (graph.nodes.size() > 1 || !takes_all(graph)) {
    if (const auto some = some_far(graph, turn, weights, random)) return *some;
  }
  if (takes_all(graph)) {
    // Now and then all elements of an input are small, or all are large.
    for (Reach& reach : reaches) {
      const double window = random.pick({kNarrowWindow, kNarrowWindow / 4});
      if (reach.high <= reach.low + window || !random.chance(kNarrowShare)) continue;
      reach.low = random.uniform(reach.low, reach.high - window);
      reach.high = reach.low + window;
    }
    return reaches;
  }
  if (free.empty()) return reaches;
  const std::size_t chosen = random.pick(free);
  double outputs = 1;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs += static_cast<double>(graph.output_type(i).shape.count());
  }
  const double terms = std::log2(std::max(cost_of(graph).flops / outputs, 1.0));
  const DType dtype = graph.inputs[chosen].type.dtype;
  const auto [least, most] = ends_of(dtype);
  const double top = most - kHeadroom - kOthersHigh - terms;
  const double lowest = std::max(kLowestWindow, least / 2);
  for (Reach& reach : reaches) reach.high = std::min(reach.high, kOthersHigh);
  if (top <= lowest) return reaches;
  Reach& reach = reaches[chosen];
  reach.high = random.uniform(lowest, top);
  reach.low = random.chance(0.3) ? least : std::max(reach.high - kWindow, least);
  return reaches;
}

}  // namespace kw::ops
