// Which nodes of a model one kernel computes together: an operator with what is done to its result element by element
// (bias, activation, residual), and chains of such operators by themselves.
//
// A group gives out one value, so that it can be replaced by one node. Groups that are alike share a kernel: they
// differ in the values of their weights alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/model.h"

namespace kw::models {

// What can be done with a node.
enum class Fit {
  none,       // kw has no fast function of it, or cannot express it
  main,       // a group may begin with it
  quantized,  // likewise, and with what stands around it it is a product of quantised numbers
              // (compose/quantized_products.h)
  pointwise,  // each part of its output needs that part of its inputs alone: it may follow in a group
};

// Of every node of the model, by the techniques of a device.
Result<std::vector<Fit>> fits_of(const Model& model, const std::string& device);

struct Group {
  std::vector<std::size_t> nodes;  // in computing order; the last one gives the result
};

// Groups do not overlap. Products of quantised numbers come first; then main nodes take what follows them, and what is
// left forms chains.
std::vector<Group> form_groups(const Model& model, const std::vector<Fit>& fits);

// The group without its first node, where that is the main node and the others give one result; otherwise empty.
Group tail_of(const Model& model, const Group& group, const std::vector<Fit>& fits);

}  // namespace kw::models
