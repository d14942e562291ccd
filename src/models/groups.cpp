#include "models/groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "compose/techniques.h"
#include "runs/drafts.h"

namespace kw::models {
namespace {

constexpr std::size_t kMostNodes = 16;

// The values that are made inside and read outside.
std::vector<std::string> results_of(const Model& model, const std::set<std::size_t>& nodes) {
  std::vector<std::string> results;
  for (const std::size_t i : nodes) {
    for (const std::string& output : model.node(i).outputs) {
      if (output.empty()) continue;
      const bool is_read =
          std::ranges::any_of(model.readers(output), [&](std::size_t r) { return !nodes.contains(r); });
      if (is_read || model.leaves(output)) results.push_back(output);
    }
  }
  return results;
}

// Whether a value is computed from a result of these nodes.
bool depends_on(const Model& model, const std::string& value, const std::set<std::size_t>& nodes) {
  std::vector<std::string> open = {value};
  std::set<std::size_t> seen;
  while (!open.empty()) {
    const auto from = model.producer(open.back());
    open.pop_back();
    if (!from) continue;
    if (nodes.contains(*from)) return true;
    if (!seen.insert(*from).second) continue;
    for (const std::string& input : model.node(*from).inputs) open.push_back(input);
    for (const std::size_t inner : model.inside(*from)) {
      for (const std::string& input : model.node(inner).inputs) open.push_back(input);
    }
  }
  return false;
}

std::vector<std::size_t> in_order(const Model& model, const std::set<std::size_t>& nodes) {
  std::vector<std::size_t> sorted;
  for (const std::size_t i : model.onnx().order) {
    if (nodes.contains(i)) sorted.push_back(i);
  }
  return sorted;
}

// A product with the nodes that dequantise its operands and the one that quantises its result, where nothing else reads
// what these make; none: it does not stand among such nodes.
std::vector<std::size_t> quantized_product(const Model& model, std::size_t product) {
  const Node& node = model.node(product);
  if ((node.op != "Conv" && node.op != "MatMul") || node.inputs.size() < 2) return {};
  const auto only_reader = [&](const std::string& value) -> std::optional<std::size_t> {
    const std::vector<std::size_t>& readers = model.readers(value);
    return readers.size() == 1 && !model.leaves(value) ? std::optional(readers[0]) : std::nullopt;
  };
  std::set<std::size_t> nodes = {product};
  for (const std::string& input : node.inputs) {
    const auto from = input.empty() ? std::nullopt : model.producer(input);
    if (!from || model.node(*from).op != "DequantizeLinear") {
      if (nodes.size() < 3) return {};  // a bias may be real numbers
      continue;
    }
    if (!only_reader(input)) return {};
    nodes.insert(*from);
  }
  const auto quantizing = only_reader(node.outputs[0]);
  if (!quantizing || model.node(*quantizing).op != "QuantizeLinear") return {};
  nodes.insert(*quantizing);
  if (std::ranges::any_of(nodes, [&](std::size_t i) { return model.scope(i) != model.scope(product); })) return {};
  return in_order(model, nodes);
}

class Grower {
 public:
  Grower(const Model& model, const std::vector<Fit>& fits) : model_(model), fits_(fits), taken_(model.count(), false) {}

  // From a node on, as far as nodes follow that go element by element over a tensor of the same shape.
  Group grow(std::size_t first) {
    std::set<std::size_t> nodes = {first};
    std::set<std::size_t> best = results_of(model_, nodes).size() == 1 ? nodes : std::set<std::size_t>();
    while (nodes.size() < kMostNodes) {
      const auto next = next_of(nodes);
      if (!next) break;
      nodes.insert(*next);
      if (results_of(model_, nodes).size() == 1) best = nodes;
    }
    for (const std::size_t i : best) taken_[i] = true;
    return {in_order(model_, best)};
  }

  Group take_quantized(std::size_t product) {
    Group group{quantized_product(model_, product)};
    for (const std::size_t i : group.nodes) taken_[i] = true;
    return group;
  }

  bool is_taken(std::size_t i) const { return taken_[i]; }

 private:
  std::optional<std::size_t> next_of(const std::set<std::size_t>& nodes) const {
    const std::vector<std::size_t> sorted = in_order(model_, nodes);
    const TensorType* shape = model_.tasks().type(model_.node(sorted.back()).outputs[0]);
    for (const std::size_t i : sorted) {
      for (const std::string& output : model_.node(i).outputs) {
        for (const std::size_t reader : model_.readers(output)) {
          if (nodes.contains(reader) || taken_[reader] || fits_[reader] != Fit::pointwise) continue;
          if (model_.scope(reader) != model_.scope(i)) continue;
          if (!shape || may_join(reader, nodes, *shape)) return reader;
        }
      }
    }
    return std::nullopt;
  }

  bool may_join(std::size_t node, const std::set<std::size_t>& nodes, const TensorType& shape) const {
    const TensorType* made = model_.tasks().type(model_.node(node).outputs[0]);
    if (!made || !(made->shape == shape.shape)) return false;
    return std::ranges::all_of(model_.node(node).inputs, [&](const std::string& input) {
      if (input.empty()) return false;
      const auto from = model_.producer(input);
      return !from || nodes.contains(*from) || !depends_on(model_, input, nodes);
    });
  }

  const Model& model_;
  const std::vector<Fit>& fits_;
  std::vector<bool> taken_;
};

}  // namespace

Result<std::vector<Fit>> fits_of(const Model& model, const std::string& device) {
  KW_TRY(const std::vector<compose::Technique> techniques, runs::techniques_for(device));
  std::vector<Fit> fits(model.count(), Fit::none);
  std::map<std::string, Fit> known;  // by signature
  for (std::size_t i = 0; i < model.count(); ++i) {
    if (!model.computes(i) || !model.tasks().why_not(i).empty()) continue;
    const std::string signature = model.signature({i});
    if (signature.empty()) continue;
    if (const auto found = known.find(signature); found != known.end()) {
      fits[i] = found->second;
      continue;
    }
    Fit& fit = known[signature];
    fit = Fit::none;
    const auto task = model.tasks().task({i});
    if (!task.ok()) continue;
    const auto graph = ops::resolve(*task);
    if (!graph.ok() || graph->outputs.size() != 1 || graph->output_type(0).from_values) continue;
    if (std::ranges::none_of(graph->inputs, [](const auto& input) { return input.role == Role::input; })) continue;
    for (const compose::Technique& technique : techniques) {
      KW_TRY(const bool applies, compose::applies(technique, *graph, graph->nodes[0]));
      if (applies) fit = technique.any_part ? Fit::pointwise : fit == Fit::none ? Fit::main : fit;
    }
    fits[i] = fit;
  }
  const compose::Served served = compose::served_by(techniques);
  for (std::size_t i = 0; i < model.count(); ++i) {
    if (fits[i] != Fit::main) continue;
    const std::vector<std::size_t> nodes = quantized_product(model, i);
    if (nodes.empty()) continue;
    const auto task = model.tasks().task(nodes);
    if (!task.ok()) continue;
    auto graph = ops::resolve(*task);
    if (graph.ok() && compose::join_quantized_products(*graph, served) > 0) fits[i] = Fit::quantized;
  }
  return fits;
}

std::vector<Group> form_groups(const Model& model, const std::vector<Fit>& fits) {
  Grower grower(model, fits);
  std::vector<Group> groups;
  for (const Fit wanted : {Fit::quantized, Fit::main, Fit::pointwise}) {
    for (const std::size_t i : model.onnx().order) {
      if (fits[i] != wanted || grower.is_taken(i)) continue;
      Group group = wanted == Fit::quantized ? grower.take_quantized(i) : grower.grow(i);
      if (!group.nodes.empty()) groups.push_back(std::move(group));
    }
  }
  return groups;
}

Group tail_of(const Model& model, const Group& group, const std::vector<Fit>& fits) {
  if (group.nodes.size() < 2 || fits[group.nodes.front()] != Fit::main) return {};
  const std::set<std::size_t> rest(group.nodes.begin() + 1, group.nodes.end());
  return results_of(model, rest).size() == 1 ? Group{in_order(model, rest)} : Group{};
}

}  // namespace kw::models
