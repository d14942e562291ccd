// A graph of convolutions and what stands around them as one kernel that keeps its images in blocks of channels from
// end to end (kernels/cpu/parts/blocked_layout.h).
//
// Convolutions take up what follows them element by element: a constant of each channel becomes part of the weights, an
// activation or a residual is computed while the numbers are near. Concatenations and splits along the channels cost
// nothing: their images lie inside of one another. Where everything lies is planned here, so that memory is used again
// as soon as no step reads it any more.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/graph.h"

namespace kw::compose {

// Why a node cannot be part of such a kernel; empty: it can.
std::string blocked_obstacle(const ops::Graph& graph, const ops::GraphNode& node);

// What a kernel takes besides its tensors.
struct BlockedKernel {
  std::string source;              // in the contract of kernelwright.h, for these shapes alone
  std::int64_t scratch_bytes = 0;  // of a call
  std::int64_t kept_bytes = 0;     // of prepared weights
  std::size_t steps = 0;
};

// An Error where a node has an obstacle. Constants may have any values but those that shapes and limits depend on.
Result<BlockedKernel> blocked_kernel(const ops::Graph& graph, const std::string& about);

}  // namespace kw::compose
