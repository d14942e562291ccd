#include "models/regions.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compose/blocked_graph.h"
#include "compose/techniques.h"
#include "ops/graph.h"
#include "runs/drafts.h"

namespace kw::models {
namespace {

using Nodes = std::vector<std::size_t>;

constexpr int kFewestConvolutions = 2;     // a small one alone gains nothing from a layout that no neighbour shares
constexpr double kLargeConvolution = 5e7;  // operations of one that is tried alone too
constexpr double kSmallNode_ns = 20e3;     // what takes longer is worth a search of its own
constexpr std::size_t kFewestSmallNodes = 4, kMostSmallNodes = 40;  // of a kernel: more take long to compile
constexpr double kPlainFlops = 2e4, kPlainBytes = 2e5;              // what a plain function may cost

// Of each node, whether a region may have it.
std::vector<bool> fitting(const Model& model) {
  std::vector<bool> fits(model.count(), false);
  for (std::size_t i = 0; i < model.count(); ++i) {
    if (!model.computes(i) || !model.tasks().why_not(i).empty()) continue;
    const auto task = model.tasks().task({i});
    if (!task.ok()) continue;
    const auto graph = ops::resolve(*task);
    fits[i] = graph.ok() && graph->nodes.size() == 1 && compose::blocked_obstacle(*graph, graph->nodes[0]).empty();
  }
  return fits;
}

// The nodes of regions and the others in turns, each time as many as can be computed by then.
std::vector<Nodes> turns_of(const Model& model, const std::vector<bool>& fits) {
  std::vector<bool> done(model.count(), false);
  std::vector<Nodes> turns;
  const auto is_ready = [&](std::size_t i) {
    if (std::ranges::any_of(model.inside(i), [&](std::size_t inner) { return !done[inner]; })) return false;
    return std::ranges::all_of(model.node(i).inputs, [&](const std::string& input) {
      const auto from = model.producer(input);
      return !from || done[*from];
    });
  };
  std::size_t left = model.count();
  for (bool regions = false; left > 0; regions = !regions) {
    Nodes turn;
    for (const std::size_t i : model.onnx().order) {
      if (done[i] || fits[i] != regions || !is_ready(i)) continue;
      done[i] = true;
      turn.push_back(i);
    }
    left -= turn.size();
    if (regions) turns.push_back(std::move(turn));
  }
  return turns;
}

// The parts of a turn that hang together by what they compute or read, in one scope.
std::vector<Nodes> parts_of(const Model& model, const Nodes& turn) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> owner;  // of each value in each scope
  std::vector<std::size_t> part(turn.size());
  std::iota(part.begin(), part.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (part[i] != i) i = part[i];
    return i;
  };
  for (std::size_t i = 0; i < turn.size(); ++i) {
    const Node& node = model.node(turn[i]);
    for (const auto* names : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *names) {
        if (name.empty() || model.tasks().is_constant(name)) continue;
        const auto [place, is_new] = owner.emplace(std::pair(model.scope(turn[i]), name), i);
        if (!is_new) part[find(i)] = find(place->second);
      }
    }
  }
  std::map<std::size_t, Nodes> parts;
  for (std::size_t i = 0; i < turn.size(); ++i) parts[find(i)].push_back(turn[i]);
  std::vector<Nodes> all;
  for (auto& [root, nodes] : parts) all.push_back(std::move(nodes));
  return all;
}

// Parts in pieces of nearly equal sizes. Nodes of a turn stand in an order that computes and depend on each other only
// by nodes of the turn, so that a piece reads nothing that depends on it.
std::vector<Nodes> pieces_of(const std::vector<Nodes>& parts) {
  std::vector<Nodes> pieces;
  for (const Nodes& part : parts) {
    const std::size_t count = (part.size() + kMostSmallNodes - 1) / kMostSmallNodes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = [&](std::size_t k) {
        return part.begin() + static_cast<std::ptrdiff_t>(part.size() * k / count);
      };
      pieces.emplace_back(place(i), place(i + 1));
    }
  }
  return pieces;
}

// A region of these nodes, without its kernel; none where they are no task.
std::optional<Region> region_of(const Model& model, const ModelTimes& times, const Nodes& nodes,
                                const std::string& op) {
  auto task = model.tasks().task(nodes);
  if (!task.ok()) return std::nullopt;
  Region region;
  region.kind.op = op;
  region.kind.groups = {{nodes}};
  region.kind.is_region = true;
  region.kind.task = *std::move(task);
  region.kind.task.name = fmt::format("{}:{}", model.file().filename().string(), op);
  for (const std::size_t i : nodes) region.kind.in_model_ns += times.node_ns[i];
  return region;
}

// The technique that a node is computed with, null for its plain function; none: neither is fast enough.
Result<std::optional<const compose::Technique*>> small_node(const Model& model, std::size_t i,
                                                            const std::vector<compose::Technique>& techniques) {
  using Some = std::optional<const compose::Technique*>;
  if (!model.computes(i) || !model.tasks().why_not(i).empty()) return Some();
  const auto task = model.tasks().task({i});
  if (!task.ok()) return Some();
  const auto graph = ops::resolve(*task);
  if (!graph.ok() || graph->nodes.size() != 1) return Some();
  for (std::size_t k = 0; k < graph->outputs.size(); ++k) {
    if (graph->output_type(k).from_values) return Some();
  }
  // What depends on lengths alone is known already, and its readers have it as a constant.
  const auto is_input = [](const ops::GraphInput& input) { return input.role == Role::input; };
  if (std::ranges::none_of(graph->inputs, is_input)) return Some();
  const compose::Technique* best = nullptr;
  for (const compose::Technique& technique : techniques) {
    if (best != nullptr && technique.order >= best->order) continue;
    KW_TRY(const bool applies, compose::applies(technique, *graph, graph->nodes[0]));
    if (applies) best = &technique;
  }
  const Cost cost = ops::cost_of(*graph);
  if (best == nullptr && (cost.flops > kPlainFlops || cost.bytes() > kPlainBytes)) return Some();
  return Some(best);
}

}  // namespace

std::vector<Region> regions_of(const Model& model, const ModelTimes& times) {
  std::vector<Region> regions;
  for (const Nodes& turn : turns_of(model, fitting(model))) {
    for (const Nodes& nodes : parts_of(model, turn)) {
      const auto is_convolution = [&](std::size_t i) { return model.node(i).op == "Conv"; };
      const auto convolutions = std::ranges::count_if(nodes, is_convolution);
      if (convolutions == 0) continue;
      auto region = region_of(model, times, nodes, fmt::format("Region_{}", regions.size()));
      if (!region) continue;
      const auto graph = ops::resolve(region->kind.task);
      if (!graph.ok()) continue;
      if (convolutions < kFewestConvolutions && ops::cost_of(*graph).flops < kLargeConvolution) continue;
      auto kernel = compose::blocked_kernel(*graph, region->kind.task.name);
      if (!kernel.ok()) continue;
      region->kernel = {.technique = fmt::format("{} nodes in blocks of channels", nodes.size()),
                        .file = "region.cpp",
                        .source = std::move(kernel->source),
                        .settings = {},
                        .alone_ns = std::nullopt,
                        .uses_threads = true};
      regions.push_back(*std::move(region));
    }
  }
  return regions;
}

Result<std::vector<Region>> small_regions_of(const Model& model, const ModelTimes& times, const std::string& device,
                                             const std::set<std::size_t>& taken) {
  KW_TRY(const std::vector<compose::Technique> techniques, runs::techniques_for(device));
  std::vector<bool> fits(model.count(), false);
  std::map<std::size_t, const compose::Technique*> by_node;
  for (std::size_t i = 0; i < model.count(); ++i) {
    if (taken.contains(i) || times.node_ns[i] > kSmallNode_ns) continue;
    KW_TRY(const auto technique, small_node(model, i, techniques));
    fits[i] = technique.has_value();
    if (technique) by_node[i] = *technique;
  }
  std::vector<Region> regions;
  for (const Nodes& turn : turns_of(model, fits)) {
    for (const Nodes& nodes : pieces_of(parts_of(model, turn))) {
      if (nodes.size() < kFewestSmallNodes) continue;
      auto region = region_of(model, times, nodes, fmt::format("Small_{}", regions.size()));
      if (!region) continue;
      const auto graph = ops::resolve(region->kind.task);
      if (!graph.ok()) continue;
      std::vector<const compose::Technique*> choice;
      for (const std::size_t i : nodes) choice.push_back(by_node.at(i));  // in computing order, as in the task
      auto draft = compose::draft_with(*graph, choice);
      if (!draft.ok()) continue;
      region->kernel = {.technique = fmt::format("{} small nodes in one kernel", nodes.size()),
                        .file = "small.cpp",
                        .source = std::move(draft->source),
                        .settings = {},
                        .alone_ns = std::nullopt};
      regions.push_back(*std::move(region));
    }
  }
  return regions;
}

}  // namespace kw::models
