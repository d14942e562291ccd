// Large parts of a model that one kernel computes from end to end: convolutions in a layout of their own
// (compose/blocked_graph.h), and many small nodes.
//
// ONNX Runtime keeps images in a layout of its own between convolutions, and a kernel in between costs changes of
// layout on both sides. A region has all convolutions that hang together, so that there is nothing in between.
#pragma once

#include <set>
#include <vector>

#include "base/result.h"
#include "models/plan.h"

namespace kw::models {

struct Region {
  GroupKind kind;  // with one group
  KindKernel kernel;
};

// Of what can be computed together as early as possible, the parts that hang together and have several convolutions. No
// value that a region reads depends on one that it makes.
std::vector<Region> regions_of(const Model& model, const ModelTimes& times);

// Of what is not taken yet, the parts of many nodes that take microseconds each: calling them costs the runtime more
// than computing them. One kernel computes them one after the other, each with its technique.
Result<std::vector<Region>> small_regions_of(const Model& model, const ModelTimes& times, const std::string& device,
                                             const std::set<std::size_t>& taken);

}  // namespace kw::models
