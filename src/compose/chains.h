// Chains of nodes that are one operator under another name: the square root of a sum of squares is ReduceL2. Whoever
// computes them as that operator reads and writes once instead of once a node.
#pragma once

#include "ops/graph.h"

namespace kw::compose {

// Puts one node in the place of every such chain; how many it found. Slots, and the numbers of nodes, stay as they are:
// the new node has the number of the one whose attributes it has.
int join_chains(ops::Graph& graph);

}  // namespace kw::compose
