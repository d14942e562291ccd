// Drawing the inputs of a graph: typical ones as the task's spreads say, and harder input classes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "ops/graph.h"
#include "ops/op.h"
#include "ops/reach.h"

namespace kw::ops {

struct Drawing {
  // May change what was drawn, within its domains, before operators correct it.
  std::function<void(std::vector<Tensor>&)> change = {};
  // Which of an examination's draws of this class it is: ways to make data take turns. None: any.
  std::optional<std::uint64_t> turn = {};
  // These stand for inputs that are weights, which then are not drawn.
  const std::vector<Tensor>* weights = nullptr;
};

// The specification of the first operator that reads a slot; null: none does.
const InputSpec* first_reader(const Graph& graph, int slot);

// One tensor for each of graph.inputs (constants, and weights that come with values, as they are). The same seed gives
// the same bits.
std::vector<Tensor> draw_inputs(const Graph& graph, InputClass input_class, std::uint64_t seed,
                                const Drawing& drawing = {});

}  // namespace kw::ops
