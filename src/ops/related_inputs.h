// Inputs that have to do with each other.
#pragma once

#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/graph.h"

namespace kw::ops {

// Now and then two inputs of one type are the same, or have elements in common, or one is the other's negative, twice
// as large, read backwards, what is missing to one, or its inverse.
void relate_inputs(const Graph& graph, std::vector<Tensor>& tensors, Random& random);

}  // namespace kw::ops
