#include "ops/reach.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace kw::ops {
namespace {

// Formulas may pass through some hundred times their argument.
constexpr double kHeadroom = 8;
// A function of one element that says what infinity gives passes through little more than its argument.
constexpr double kHeadroomOfOne = 2;
// An input that is anywhere spans so many powers of two, or all that are below.
constexpr double kWindow = 40;
constexpr double kNarrowWindow = 20;
constexpr double kNarrowShare = 0.3;
// While one input is anywhere, others are no larger than this.
constexpr double kOthersHigh = 6;
// Sums of results below this are no longer normal in one order and lost in another.
constexpr double kLowestWindow = -80;

// Operators whose result is proportional to these inputs, or bounded however large they are: a sum of products in which
// each occurs once. Those that add magnitudes (ReduceL1) are not among them: many small terms of one sign get lost
// beside a large one, and honest orders of summation differ by that.
const std::set<std::size_t>* proportional_inputs(const std::string& op) {
  static const std::map<std::string, std::set<std::size_t>> kInputs = {
      {"AveragePool", {0}}, {"Conv", {0, 1}},           {"ConvTranspose", {0, 1}}, {"CumSum", {0}},
      {"Gemm", {0, 1, 2}},  {"GlobalAveragePool", {0}}, {"GridSample", {0}},       {"LeakyRelu", {0}},
      {"LogSoftmax", {0}},  {"MatMul", {0, 1}},         {"PRelu", {0, 1}},         {"ReduceLogSumExp", {0}},
      {"ReduceMean", {0}},  {"ReduceSum", {0}},         {"Resize", {0}},           {"Softmax", {0}},
  };
  const auto found = kInputs.find(op);
  return found == kInputs.end() ? nullptr : &found->second;
}

const InputSpec& spec_of(const GraphNode& node, std::size_t input) {
  const auto& specs = node.call.op->inputs;
  return specs[std::min(input, specs.size() - 1)];
}

bool has_ends(const GraphNode& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.call.has(i) || !is_float(node.call.dtype(i))) continue;
    if (node.inputs[i] >= 0 && !spec_of(node, i).domain.infinities) return false;
  }
  return true;
}

bool copies(const GraphNode& node) { return node.call.op->flops(node.call) == 0; }

// It gives its inputs' own elements, or rounds once where there is one way to: of finite numbers, whatever their size.
bool moves(const GraphNode& node) {
  static const std::set<std::string> kRoundOnce = {"Abs", "Add", "Div", "GlobalMaxPool", "Max",       "MaxPool", "Min",
                                                   "Mul", "Neg", "Sub", "ReduceMax",     "ReduceMin", "Relu"};
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

}  // namespace

Patterns patterns_of(const Graph& graph) {
  const bool elementwise = takes_all(graph);
  return {.equal = elementwise || std::ranges::all_of(graph.nodes,
                                                      [](const GraphNode& node) {
                                                        return has_ends(node) ||
                                                               proportional_inputs(node.call.op->name) != nullptr;
                                                      }),
          .one_sign = elementwise,
          .zeros = elementwise || std::ranges::all_of(graph.nodes, [](const GraphNode& node) {
                     // Not where zeros become equal terms of a long sum, which drifts, nor where minimal filtering
                     // makes something of the rounding of very small terms that nothing larger hides.
                     static const std::set<std::string> kSensitive = {"Conv", "ConvTranspose", "LogSoftmax",
                                                                      "ReduceLogSumExp", "Softmax"};
                     static const std::set<std::string> kRecurrent = {"GRU", "LSTM", "RNN"};
                     const std::string& name = node.call.op->name;
                     if (kSensitive.contains(name)) return false;
                     return moves(node) || proportional_inputs(name) != nullptr || kRecurrent.contains(name);
                   })};
}

std::vector<Reach> draw_reaches(const Graph& graph, Random& random) {
  std::vector<Reach> reaches(graph.inputs.size());
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const GraphInput& input = graph.inputs[i];
    if (!is_float(input.type.dtype)) continue;
    reaches[i] = cautious(graph, domain_of(graph, static_cast<int>(i)), input.type.dtype);
    if (may_be_anywhere(graph, static_cast<int>(i))) free.push_back(i);
  }
  if (takes_all(graph)) {
    // Now and then all elements of an input are small, or all are large.
    for (Reach& reach : reaches) {
      if (reach.high <= reach.low + kNarrowWindow || !random.chance(kNarrowShare)) continue;
      reach.low = random.uniform(reach.low, reach.high - kNarrowWindow);
      reach.high = reach.low + kNarrowWindow;
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
