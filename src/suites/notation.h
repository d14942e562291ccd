// The notation of tensors and nodes inside a suite: "x: float32[N=8, C] in [0, 1]", "y = Gemm<transB=1>(x, w)".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/task.h"

namespace kw::suites {

// A piece of a suite's text and where it stands, so that an error names file, line and column.
struct Piece {
  std::string_view text;
  std::string file;
  std::size_t line = 1;
  std::size_t column = 1;  // of the text's first character

  std::string place(std::size_t offset) const;
};

// NAME: TYPE[LENGTHS] SPREAD. New names of lengths are added to `lengths`.
Result<Value> parse_tensor(const Piece& piece, Role role, Lengths& lengths);
// NAME: TYPE[LENGTHS] = VALUES
Result<Value> parse_constant(const Piece& piece, Lengths& lengths);
// OUTPUTS = Operator<ATTRIBUTES>(INPUTS)
Result<Node> parse_node(const Piece& piece, const Lengths& lengths);
// NAME, or NAME: TYPE[LENGTHS]
Result<Output> parse_output(const Piece& piece, Lengths& lengths);

// The other way: what the parsers above would read back.
std::string text_of(const Spread& spread);
std::string text_of(const Node& node);

}  // namespace kw::suites
