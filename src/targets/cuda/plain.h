// The right, straightforward CUDA kernel of a task: one thread for each element of a node's output, one launch a node.
//
// An operator is a file of kernels/cuda/plain, NAME.cuh, or a row of elementwise.txt there. A file holds a structure of
// numbers NAME_node that NAME_plan fills in from shapes and attributes, and one of two device functions:
//   NAME      computes one element of the first output from it; NAME_more<k> one of output k
//   NAME_row  computes what cannot be told apart by elements (a sequence, a sort): the structure's `rows` threads write
//             all outputs, and share `room` bytes of scratch memory
#pragma once

#include <string>

#include "base/result.h"
#include "ops/graph.h"

namespace kw::cuda {

// A message names the operator that there is no plain CUDA kernel of.
Result<std::string> plain_kernel(const ops::Graph& graph);

}  // namespace kw::cuda
