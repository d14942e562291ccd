#include "compose/chains.h"

#include <algorithm>

namespace kw::compose {
namespace {

struct Chain {
  const char* is;
  std::vector<const char*> ops;  // the first reads one tensor only, each of the others what the one before it made
  std::size_t main;              // whose attributes and further inputs the operator has
};

// Longer ones first. Of float32 all of them are the same for every number, overflow and NaN included; narrower types
// overflow in between.
const std::vector<Chain>& chains() {
  static const std::vector<Chain> kChains = {
      {"ReduceL2", {"Mul", "ReduceSum", "Sqrt"}, 1},
      {"ReduceSumSquare", {"Mul", "ReduceSum"}, 1},
      {"ReduceL1", {"Abs", "ReduceSum"}, 1},
      {"ReduceLogSum", {"ReduceSum", "Log"}, 0},
  };
  return kChains;
}

bool is_output(const ops::Graph& graph, int slot) {
  return std::ranges::find(graph.outputs, slot) != graph.outputs.end();
}

// How often a slot is read.
std::ptrdiff_t readers(const ops::Graph& graph, int slot) {
  std::ptrdiff_t count = 0;
  for (const ops::GraphNode& node : graph.nodes) count += std::ranges::count(node.inputs, slot);
  return count;
}

bool begins_at(const ops::Graph& graph, const Chain& chain, std::size_t begin) {
  if (begin + chain.ops.size() > graph.nodes.size()) return false;
  for (std::size_t i = 0; i < chain.ops.size(); ++i) {
    const ops::GraphNode& node = graph.nodes[begin + i];
    if (node.call.op->name != chain.ops[i] || node.outputs.size() != 1) return false;
    if (node.call.outputs[0].dtype != DType::float32) return false;
    if (i == 0 && chain.main != 0) {
      const int x = node.inputs[0];
      if (x < 0 || std::ranges::any_of(node.inputs, [x](int slot) { return slot != x; })) return false;
    }
    if (i > 0) {
      const int made = graph.nodes[begin + i - 1].outputs[0];
      if (node.inputs[0] != made || readers(graph, made) != 1 || is_output(graph, made)) return false;
    }
  }
  return true;
}

ops::GraphNode joined(const ops::Graph& graph, const Chain& chain, std::size_t begin) {
  const ops::GraphNode &first = graph.nodes[begin], &last = graph.nodes[begin + chain.ops.size() - 1];
  ops::GraphNode node = graph.nodes[begin + chain.main];
  node.call.op = ops::find_op(chain.is);
  node.call.inputs[0] = first.call.inputs[0];
  node.call.constants[0] = first.call.constants[0];
  node.call.declared = last.call.declared;
  node.call.wanted = last.call.wanted;
  node.call.outputs = last.call.outputs;
  node.inputs[0] = first.inputs[0];
  node.outputs = last.outputs;
  return node;
}

}  // namespace

int join_chains(ops::Graph& graph) {
  int found = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto chain = std::ranges::find_if(chains(), [&](const Chain& one) { return begins_at(graph, one, i); });
    if (chain == chains().end()) continue;
    graph.nodes[i] = joined(graph, *chain, i);
    const auto behind = graph.nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    graph.nodes.erase(behind, behind + static_cast<std::ptrdiff_t>(chain->ops.size()) - 1);
    ++found;
  }
  return found;
}

}  // namespace kw::compose
