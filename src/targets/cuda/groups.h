// Which nodes of a graph become one launch: a technique's node with those neighbours that work element by element, or
// such neighbours alone.
#pragma once

#include <optional>
#include <vector>

#include "compose/techniques.h"
#include "ops/graph.h"

namespace kw::cuda {

using Choices = std::vector<const compose::Technique*>;  // of each node; null: plainly

struct Group {
  std::vector<std::size_t> before;  // element by element, computed where the node reads its first operand
  std::optional<std::size_t> node;
  std::vector<std::size_t> after;  // computed where the node writes its result; without a node: by themselves

  // The only one whose result others see; the group is launched in its place.
  std::size_t last() const { return after.empty() ? *node : after.back(); }
};

// In the order of launches. Nodes that follow a technique's have its result's shape, in the task's own lengths and in
// some others.
Result<std::vector<Group>> groups_of(const ops::Graph& graph, const Choices& choice);

}  // namespace kw::cuda
