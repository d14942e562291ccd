// Products of quantised numbers that are written down as products of real ones: MatMul or Conv whose operands come out
// of DequantizeLinear and whose result goes into QuantizeLinear. They are QLinearMatMul and QLinearConv, and computed
// as such they need no real number but one for each result.
#pragma once

#include <functional>

#include "ops/graph.h"

namespace kw::compose {

// Puts one node in the place of each such product that is `served` then; how many it found. A bias stays the real
// number that it is: QLinearConv's input of that place is float32 here. Slots, and the numbers of nodes, stay as they
// are: the new node has the product's number.
using Served = std::function<bool(const ops::Graph& graph, const ops::GraphNode& node)>;
int join_quantized_products(ops::Graph& graph, const Served& served);

}  // namespace kw::compose
