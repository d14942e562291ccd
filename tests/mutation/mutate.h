// Small wrong kernels made from a right one: one token or one statement is changed at a time, as a tired author would.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace kw::mutation {

struct Mutant {
  std::string source;
  std::string
      kind;  // "index", "bound", "sign", "tail", "constant", "axis", "accumulator", "statement", "function", "logic"
  int line = 0;
  std::string before;  // the line as it was, and as it is
  std::string after;
};

// Every mutant of the source's own code, from the first line behind its includes on.
std::vector<Mutant> all_mutants(const std::string& source);

// So many of them, of all kinds as evenly as they come.
std::vector<Mutant> some_mutants(const std::string& source, std::size_t count, Random& random);

}  // namespace kw::mutation
