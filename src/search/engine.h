// Searching a task's space with a strategy, cheap before dear: what requirements forbid is never built; what builds
// gets a quick check (judge/quick_check.h) and a short timing against one kernel that stays the same; only the few that
// may win are judged in full, and the one that wins is measured again on fresh inputs, so that luck of selection is not
// counted.
//
// Building goes on on all cores, timing on one alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/judge.h"
#include "search/strategy.h"

namespace kw::search {

// How much a search may spend; what is 0 is no limit.
struct Budget {
  double seconds = 0;
  int candidates = 0;
};
// "60s", "2m", "1h", or a number of candidates: "200".
Result<Budget> parse_budget(const std::string& text);
std::string text_of(const Budget& budget);

// A candidate that was tried.
struct Trial {
  Point point;
  judge::Case asked;
  Verdict verdict;
  std::optional<double> time;  // against the search's reference; none where it was rejected
  double spent_s = 0;
};

struct SearchJob {
  const Task* task = nullptr;
  const Space* space = nullptr;
  Strategy* strategy = nullptr;
  Budget budget;
  // Candidates run with as many threads, and find their tensors as warm or cold, as the winner will be judged with.
  int threads = 1;
  bool cold = false;
  // Called after each trial; an Error ends the search.
  std::function<Status(const Trial&)> tried = [](const Trial&) { return Status(); };
  // What an earlier part of the same search knows of a point: nothing, or its Observation.
  std::function<std::optional<Observation>(const Point&)> known = [](const Point&) { return std::nullopt; };
};

// The points that were right in a quick check, the fastest first.
struct Found {
  std::vector<Observation> ranking;
  int tried = 0;
  int rejected = 0;
  bool exhausted = false;  // the strategy knew of nothing more
};

Result<Found> search(judge::Judge& judge, const SearchJob& plan);

// The case that judges a point of the space in full.
judge::Case case_of(const Task& task, const Space& space, const Point& point, int threads = 1, bool cold = false,
                    const std::string& device = targets::usual_device());

// Judges the best of a search in full, one after the other until one is accepted; those that the search could not tell
// apart race each other first. `rules` holds the rivals and the time. `judged` is called with each verdict, the last
// of which is the winner's, or the last failure.
using Judged =
    std::function<Status(const Point& point, const judge::Case& asked, const Verdict& verdict, double spent_s)>;
struct Winner {
  Point point;
  Verdict verdict;
};
Result<Winner> decide(judge::Judge& judge, const Task& task, const Space& space, const Found& found,
                      const judge::Case& rules, const Judged& judged);

}  // namespace kw::search
