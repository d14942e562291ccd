// The right, straightforward CUDA kernel of a task: one thread for each element of a node's output, one launch a node.
//
// An operator is a file of kernels/cuda/plain, NAME.cuh, or a row of elementwise.txt there. A file holds two things
// with the operator's name: a structure of numbers that the plan fills in from shapes and attributes, and a device
// function that computes one element of an output from it.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/graph.h"

namespace kw::cuda {

// A message names the operator that there is no plain CUDA kernel of.
Result<std::string> plain_kernel(const ops::Graph& graph);

}  // namespace kw::cuda
