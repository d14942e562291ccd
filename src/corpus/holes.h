// Holes in a kernel: parts that a model is asked to write anew while all around them stays, byte for byte.
//
// What is filled in may not reach beyond its hole: text that opens a comment, closes a brace of its surroundings or
// defines a macro would leave the bytes around it and take away their meaning. Such an answer is rejected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::corpus {

enum class HoleKind {
  function,  // the body of a function
  loop,      // a loop with all that is in it
  plan       // what says how the work is cut: tunables and what holds between them; of a GPU kernel its KW_PLAN
};
std::string_view name_of(HoleKind kind);

struct Hole {
  HoleKind kind = HoleKind::function;
  std::string name;       // of the function that it is, or lies in
  std::size_t begin = 0;  // offsets of what is missing
  std::size_t end = 0;
  int first_line = 0;  // from 1
  int last_line = 0;
  int nesting = 0;  // of a loop: how many loops deep it goes, itself included

  std::string prefix(const std::string& source) const { return source.substr(0, begin); }
  std::string middle(const std::string& source) const { return source.substr(begin, end - begin); }
  std::string suffix(const std::string& source) const { return source.substr(end); }
};

// In the order of their beginnings; an outer one before those within it.
std::vector<Hole> holes_of(const std::string& source);

// The whole kernel, or why what was filled in is not confined to its hole.
Result<std::string> filled(std::string_view prefix, std::string_view middle, std::string_view suffix);

// What a whole text has between prefix and suffix; an Error where they did not survive.
Result<std::string> middle_of(std::string_view whole, std::string_view prefix, std::string_view suffix);

}  // namespace kw::corpus
