#include "targets/cuda/groups.h"

#include <algorithm>
#include <map>

#include "ops/lengths.h"

namespace kw::cuda {
namespace {

constexpr std::uint64_t kSeed = 21;
constexpr std::size_t kOtherShapes = 6;

class Grouping {
 public:
  Grouping(const ops::Graph& graph, const Choices& choice) : graph_(graph), choice_(choice) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const int slot : graph.nodes[i].inputs) ++readers_[slot];
    }
    for (const Lengths& lengths : ops::hidden_lengths(*graph.task, kSeed, kOtherShapes)) {
      if (auto other = ops::resolve(*graph.task, lengths); other.ok()) others_.push_back(std::move(*other));
    }
  }

  std::vector<Group> groups() {
    std::vector<Group> chains, all;
    taken_.assign(graph_.nodes.size(), false);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (elementwise(i) && !taken_[i]) chains.push_back({.after = chain_to(i)});
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!elementwise(i)) all.push_back({.node = i});
    }
    for (const Group& chain : chains) {
      const auto host = std::ranges::find_if(all, [&](const Group& group) { return continues(group, chain); });
      if (host != all.end()) {
        host->after = chain.after;
        continue;
      }
      const auto reader = std::ranges::find_if(all, [&](const Group& group) { return feeds(chain, group); });
      if (reader != all.end()) {
        reader->before = chain.after;
      } else {
        all.push_back(chain);
      }
    }
    std::ranges::sort(all, {}, &Group::last);
    return all;
  }

 private:
  bool elementwise(std::size_t node) const { return choice_[node] != nullptr && choice_[node]->any_part; }
  int result_of(std::size_t node) const { return graph_.nodes[node].outputs[0]; }
  bool is_output(int slot) const { return std::ranges::find(graph_.outputs, slot) != graph_.outputs.end(); }
  std::ptrdiff_t reads(const std::vector<std::size_t>& nodes, int slot) const {
    std::ptrdiff_t count = 0;
    for (const std::size_t node : nodes) count += std::ranges::count(graph_.nodes[node].inputs, slot);
    return count;
  }
  // No other node reads it.
  bool only_for(const std::vector<std::size_t>& nodes, int slot) const {
    return !is_output(slot) && reads(nodes, slot) == readers_.at(slot);
  }

  // All that is computed for this node alone, element by element; sorted, this one last.
  std::vector<std::size_t> chain_to(std::size_t last) {
    std::vector<std::size_t> nodes = {last};
    taken_[last] = true;
    for (std::size_t i = last; i-- > 0;) {
      if (!elementwise(i) || taken_[i] || !only_for(nodes, result_of(i)) || reads(nodes, result_of(i)) == 0) continue;
      nodes.push_back(i);
      taken_[i] = true;
    }
    std::ranges::reverse(nodes);
    return nodes;
  }

  bool continues(const Group& group, const Group& chain) const {
    const compose::Technique* technique = choice_[*group.node];
    if (technique == nullptr || !technique->fuses_after || !group.after.empty()) return false;
    const int made = result_of(*group.node), end = result_of(chain.last());
    if (made < 0 || reads(chain.after, made) == 0 || !only_for(chain.after, made)) return false;
    const auto same = [&](const ops::Graph& graph) {
      return graph.types[static_cast<std::size_t>(made)].shape == graph.types[static_cast<std::size_t>(end)].shape;
    };
    return same(graph_) && std::ranges::all_of(others_, same);
  }

  bool feeds(const Group& chain, const Group& group) const {
    const compose::Technique* technique = choice_[*group.node];
    if (technique == nullptr || !technique->fuses_before || !group.before.empty()) return false;
    const int made = result_of(chain.last());
    const ops::GraphNode& node = graph_.nodes[*group.node];
    return !node.inputs.empty() && node.inputs[0] == made && readers_.at(made) == 1 && !is_output(made);
  }

  const ops::Graph& graph_;
  const Choices& choice_;
  std::map<int, std::ptrdiff_t> readers_;
  std::vector<ops::Graph> others_;
  std::vector<bool> taken_;
};

}  // namespace

Result<std::vector<Group>> groups_of(const ops::Graph& graph, const Choices& choice) {
  if (std::ranges::all_of(choice, [](const auto* one) { return one == nullptr; })) {
    std::vector<Group> alone;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) alone.push_back({.node = i});
    return alone;
  }
  return Grouping(graph, choice).groups();
}

}  // namespace kw::cuda
