#include "compose/quantized_products.h"

#include <algorithm>
#include <optional>
#include <set>

namespace kw::compose {
namespace {

constexpr std::size_t kNumbers = 0, kScale = 1, kZero = 2;  // inputs of DequantizeLinear and QuantizeLinear

class Joiner {
 public:
  explicit Joiner(ops::Graph& graph) : graph_(graph) {}

  // The product that node `at` is between nodes that dequantise and quantise; none: it is no such product.
  std::optional<ops::GraphNode> joined(std::size_t at) const {
    const ops::GraphNode& product = graph_.nodes[at];
    const bool is_conv = product.call.op->name == "Conv";
    if (!is_conv && product.call.op->name != "MatMul") return std::nullopt;
    const ops::GraphNode* const a = dequantized(product.inputs[0]);
    const ops::GraphNode* const b = dequantized(product.inputs[1]);
    const auto quantizing = only_reader(product.outputs[0]);
    if (!a || !b || !quantizing) return std::nullopt;
    const ops::GraphNode& y = graph_.nodes[*quantizing];
    if (y.call.op->name != "QuantizeLinear" || y.inputs[kNumbers] != product.outputs[0]) return std::nullopt;
    if (!is_of_bytes(y.outputs[0]) || slot_of(y, kZero) < 0) return std::nullopt;
    if (!has_one_scale(*a) || !has_one_scale(y)) return std::nullopt;
    if (!has_one_scale(*b) && !has_scales_of_columns(*b, is_conv ? 0 : 1)) return std::nullopt;

    ops::GraphNode node = product;
    node.call.op = ops::find_op(is_conv ? "QLinearConv" : "QLinearMatMul");
    node.inputs = {a->inputs[kNumbers], a->inputs[kScale],  slot_of(*a, kZero), b->inputs[kNumbers],
                   b->inputs[kScale],   slot_of(*b, kZero), y.inputs[kScale],   y.inputs[kZero]};
    if (product.inputs.size() > 2 && product.inputs[2] >= 0) node.inputs.push_back(product.inputs[2]);
    node.call.inputs.clear();
    node.call.constants.clear();
    for (const int slot : node.inputs) {
      node.call.inputs.push_back(slot < 0 ? std::nullopt : std::optional(type(slot)));
      node.call.constants.push_back(slot < 0 ? nullptr : graph_.known[static_cast<std::size_t>(slot)]);
    }
    node.call.declared = y.call.declared;
    node.call.wanted = y.call.wanted;
    node.call.outputs = y.call.outputs;
    node.outputs = y.outputs;
    return node;
  }

  // In the place of the node that quantises; what only the product read goes.
  void replace(std::size_t at, ops::GraphNode node) {
    const ops::GraphNode product = graph_.nodes[at];
    const std::size_t quantizing = *only_reader(product.outputs[0]);
    graph_.nodes[quantizing] = std::move(node);
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(at));
    std::erase_if(graph_.nodes, [&](const ops::GraphNode& one) {
      const bool was_read =
          !one.outputs.empty() && (one.outputs[0] == product.inputs[0] || one.outputs[0] == product.inputs[1]);
      return was_read && readers(one.outputs[0]).empty() && !is_output(one.outputs[0]);
    });
  }

 private:
  static int slot_of(const ops::GraphNode& node, std::size_t input) {
    return input < node.inputs.size() ? node.inputs[input] : -1;
  }
  const TensorType& type(int slot) const { return graph_.types[static_cast<std::size_t>(slot)]; }
  bool is_of_bytes(int slot) const { return type(slot).dtype == DType::int8 || type(slot).dtype == DType::uint8; }
  bool is_output(int slot) const { return std::ranges::find(graph_.outputs, slot) != graph_.outputs.end(); }

  std::vector<std::size_t> readers(int slot) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (std::ranges::find(graph_.nodes[i].inputs, slot) != graph_.nodes[i].inputs.end()) all.push_back(i);
    }
    return all;
  }
  std::optional<std::size_t> only_reader(int slot) const {
    const std::vector<std::size_t> all = readers(slot);
    if (all.size() != 1 || is_output(slot) || type(slot).dtype != DType::float32) return std::nullopt;
    return all[0];
  }

  // The node that makes these real numbers of bytes.
  const ops::GraphNode* dequantized(int slot) const {
    for (const ops::GraphNode& node : graph_.nodes) {
      if (node.outputs.empty() || node.outputs[0] != slot) continue;
      const bool fits = node.call.op->name == "DequantizeLinear" && is_of_bytes(node.inputs[kNumbers]) &&
                        type(slot).dtype == DType::float32 && type(node.inputs[kScale]).dtype == DType::float32;
      return fits ? &node : nullptr;
    }
    return nullptr;
  }
  bool has_one_scale(const ops::GraphNode& node) const {
    return type(node.inputs[kScale]).dtype == DType::float32 && type(node.inputs[kScale]).shape.count() == 1;
  }
  // One scale for each place along an axis of a matrix, or of a convolution's weights.
  bool has_scales_of_columns(const ops::GraphNode& node, int wanted) const {
    const int rank = type(node.inputs[kNumbers]).shape.rank();
    const std::int64_t axis = node.call.integer("axis");
    if (wanted == 1 && rank != 2) return false;
    return node.call.integer("block_size") == 0 && (axis < 0 ? axis + rank : axis) == wanted;
  }

  ops::Graph& graph_;
};

}  // namespace

int join_quantized_products(ops::Graph& graph, const Served& served) {
  Joiner joiner(graph);
  int found = 0;
  for (std::size_t i = 0; i < graph.nodes.size();) {
    std::optional<ops::GraphNode> node = joiner.joined(i);
    if (!node || !served(graph, *node)) {
      ++i;
      continue;
    }
    joiner.replace(i, *std::move(node));
    ++found;
    i = 0;  // nodes have moved
  }
  return found;
}

}  // namespace kw::compose
