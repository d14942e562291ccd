// Nodes of a graph as blocked_graph.h computes them: which tensors are images, which are constants of channels, and
// what an operator does to numbers one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/graph.h"

namespace kw::compose {

using Slot = int;

inline const TensorType& type_of(const ops::Graph& graph, Slot slot) {
  return graph.types[static_cast<std::size_t>(slot)];
}
// A constant that the kernel is given: its number among the inputs is the slot.
bool is_weight(const ops::Graph& graph, Slot slot);
// The one number that a slot is known to hold.
std::optional<double> number_in(const ops::Graph& graph, Slot slot);

// What is done to each number of an image. As in the table blocked::Touch of blocked_layout.h.
struct Elementwise {
  std::string touch;  // "swish", "affine", "add" …
  double a = 0, b = 0;
  Slot image = -1;  // what it is done to
  Slot other = -1;  // another image, or a weight (of "affine")
  // Of "affine": how; as in blocked::Recipe.
  std::string recipe;
  std::vector<Slot> weights;
  double epsilon = 0;

  bool is_affine() const { return touch == "affine"; }
};

// None where the node is no such operator, or not on tensors that fit.
std::optional<Elementwise> elementwise_of(const ops::Graph& graph, const ops::GraphNode& node);

// A resize that repeats pixels: how often down and across.
std::optional<std::pair<std::int64_t, std::int64_t>> repeats_of(const ops::Graph& graph, const ops::GraphNode& node);

bool is_image(const TensorType& type);

}  // namespace kw::compose
