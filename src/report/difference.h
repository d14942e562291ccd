// What changed between two versions of a source, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::report {

struct Difference {
  int added = 0;
  int removed = 0;
  // "+new", "-old", " same" around them, and "@ 12 lines" where lines that did not change, or were too many, are left
  // out.
  std::vector<std::string> lines;

  bool operator==(const Difference&) const = default;
};

// The fewest added and removed lines, unless more than `most_edits` are needed: then everything between the first and
// the last line that differ counts as rewritten. Of a long difference the first `most_lines` are kept.
Difference difference_of(std::string_view before, std::string_view after, int context = 3, int most_lines = 300,
                         int most_edits = 1000);

}  // namespace kw::report
