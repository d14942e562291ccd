// The case that a kernel which was taken away is checked with (kernels/takeaway/check.cpp.in): inputs that the program
// draws again by itself, and of each output some elements with what they must be and how far they may be off.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/graph.h"

namespace kw::runs {

struct CheckCase {
  std::string inputs, outputs, limits;  // rows of the program's tables
  std::string expected;                 // likewise, a file of its own
};

// An Error where the reference cannot compute what was drawn.
Result<CheckCase> check_case_of(const ops::Graph& graph);

}  // namespace kw::runs
