// The plain kernel of a task: right, readable, and as slow as straightforward loops are. It is what `kw init` hands to
// a person to start from, and the rival that every task has.
//
// How an operator is computed plainly is a function in kernels/plain/OP.h; compose.h puts together those that a task
// needs, and the calls of them.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "compose/compose.h"
#include "ops/graph.h"

namespace kw::compose {

// One C++ source in the contract of kernelwright.h, for the graph's types and for all shapes.
Result<std::string> plain_kernel(const ops::Graph& graph);

// The plain function of an operator, and whether there is one.
Result<std::filesystem::path> file_of(const std::string& op);
bool is_there(const std::string& op);

}  // namespace kw::compose
