// A kernel of a whole task, put together from one function an operator.
//
// The functions are files: kernels/plain/OP.h holds the plain one of each operator, and a technique's file holds fast
// ones of the operators that it serves. A function is called OP and takes its node, the inputs and the outputs. It may
// come with a second one, prepare_OP, that packs constant inputs or keeps what follows from shapes, once, before
// anything is timed; what that returns is then the last argument of every call of OP.
//
// Neighbours that compute any part of their tensors alone are called block by block (parts/blocks.h beside the
// technique), where the shapes of a call allow it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/graph.h"

namespace kw::compose {

// Where the function of a node comes from.
struct Piece {
  std::filesystem::path file;
  std::string space;      // the C++ namespace that it is put into; empty: none
  bool prepares = false;  // there is a prepare_OP
  bool any_part = false;  // what it computes of a part of its inputs is that part of its outputs
};

// One C++ source in the contract of kernelwright.h; `pieces` has one for each node. Its first line is a comment with
// the task's name and `about`.
Result<std::string> compose(const ops::Graph& graph, const std::vector<Piece>& pieces, const std::string& about);

}  // namespace kw::compose
