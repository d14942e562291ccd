// The outline of a C, C++ or CUDA source: which functions and types it has, from which line to which.
//
// Read without a compiler, so that it works on sources that do not compile: braces are matched outside of comments,
// text and preprocessor lines, and what stands before a brace tells what it opens. Where a brace is missing, a
// definition that begins in the first column closes what was open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::inspect {

struct Scope {
  enum class Kind { function, type, name_space } kind = Kind::function;
  std::string name;       // "softmax_row", "Tile", "KW_KERNEL(call)"
  std::string signature;  // what stands before the brace, on one line
  int first_line = 0;     // of the signature, from 1
  int last_line = 0;
  int depth = 0;          // how many scopes are around it
  bool declared = false;  // a function without its body
};

enum class Listed { definitions, declarations_too };

// In the order of their first lines. Functions within functions are not listed.
std::vector<Scope> outline_of(std::string_view source, Listed listed = Listed::definitions);

// The innermost function around a line, or else the innermost type; none at file scope.
const Scope* scope_at(const std::vector<Scope>& outline, int line);

// The line of a brace that is opened and seems to be closed by a brace that belongs to another one, as their
// indentation tells; 0 where all fit.
int unclosed_brace(std::string_view source);

}  // namespace kw::inspect
