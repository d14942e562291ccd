// What a task means: its graph with operators found, attributes complete, lengths filled in and every type inferred.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/cost.h"
#include "core/task.h"
#include "ops/op.h"

namespace kw::ops {

// One input of the whole graph: something that a kernel is given.
struct GraphInput {
  std::string name;
  Role role = Role::input;
  TensorType type;
  const Value* declared = nullptr;  // in the task
};

struct GraphNode {
  Call call;
  int number = 0;            // among the task's nodes
  std::vector<int> inputs;   // slots; -1: left out
  std::vector<int> outputs;  // slots; -1: unused
};

// Slots number every tensor of the graph: first the inputs and weights and constants, in the task's order, then
// results.
// It can be moved, not copied: calls point into `constants`.
struct Graph {
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  const Task* task = nullptr;
  std::vector<GraphInput> inputs;    // of all roles
  std::vector<GraphNode> nodes;      // in an order that computes
  std::vector<int> outputs;          // slots
  std::vector<TensorType> types;     // of every slot
  std::vector<std::string> names;    // of every slot
  std::vector<const Tensor*> known;  // of every slot: its value where it does not depend on the inputs, else null
  std::deque<Tensor> constants;      // constants and folded results, which `known` points to; a deque does not move

  TensorType output_type(std::size_t i) const { return types[static_cast<std::size_t>(outputs[i])]; }
};

// The graph of a task with its own lengths, or with others. The task must outlive the graph. Errors name the node and
// the input or attribute.
Result<Graph> resolve(const Task& task);
Result<Graph> resolve(const Task& task, const Lengths& lengths);

// The right answers to these inputs (one tensor for each of graph.inputs, in their order).
Result<std::vector<WideTensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs);

Cost cost_of(const Graph& graph);

// A task of one node, for tests that start from an operator's random case.
Task task_of(const Op& op, const Sample& sample);

}  // namespace kw::ops
