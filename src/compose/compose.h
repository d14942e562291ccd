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

// What functions of a technique share: written out in the source, so that it stands alone, or included by its name
// (<kw/vector.h>), so that it is short.
enum class Parts { inlined, by_name };
// Whether a kernel may include this file by name: a part of techniques that includes no other files but parts. What
// plain functions share is not there to be named.
bool can_be_named(const std::filesystem::path& file, const std::string& text);

// One C++ source in the contract of kernelwright.h; `pieces` has one for each node. Its first line is a comment with
// the task's name and `about`.
Result<std::string> compose(const ops::Graph& graph, const std::vector<Piece>& pieces, const std::string& about,
                            Parts parts = Parts::inlined);

}  // namespace kw::compose
