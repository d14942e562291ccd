// What got better or worse from one run to another, task by task.
//
// Times of two days do not compare; speed-ups against one rival do, where it is the same version of it, on the same
// machine and under the same terms. A change is what remains when both intervals are as near to each other as they can
// be and the noise of both races is taken off; anything less is called the same. docs/figures.md has the rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figures.h"

namespace kw::report {

enum class ChangeKind {
  better,
  worse,
  same,     // within the noise
  gained,   // right only in the later run
  lost,     // right only in the earlier one
  neither,  // right in none
  apart,    // right in both, and not to be compared
};
std::string_view name_of(ChangeKind kind);

struct Change {
  std::string task;
  std::string task_hash;  // in the later run
  ChangeKind kind = ChangeKind::same;
  std::string rival = {};  // that both met
  // How many times as fast as before, and the widest interval that both intervals allow.
  std::optional<Ratio> ratio = {};
  std::string why = {};  // of apart
};

// Of every task that both runs have, in the order of the later one.
std::vector<Change> changes_between(const RunFigures& before, const RunFigures& after);

}  // namespace kw::report
