// The work of --over: a kernel judged at each size of a range, and the choice among the kernels that a search found at
// some of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/judge.h"
#include "runs/order.h"
#include "runs/over.h"
#include "runs/rivals.h"
#include "runs/search_run.h"
#include "store/store.h"

namespace kw::runs {

// In full, each size as if it were the task's own, beside the rivals; a run of its own in the record for each, where
// there is one. Ends with the first size at which the kernel is rejected.
Result<std::vector<TimedSize>> judge_over(const judge::Case& kernel, const Task& task,
                                          const std::vector<OverSize>& sizes, const Rivals& rivals, store::Store* store,
                                          const std::string& command);

// How the kernels that were found at sizes stand against each other there.
struct OverChoice {
  std::size_t chosen = 0;  // the best in the geometric mean of all seen sizes
  struct Loss {
    Lengths lengths;
    std::size_t faster = 0;  // that kernel is
    double times = 1;        // how many times as fast as the chosen one
  };
  std::vector<Loss> losses;
};
// `speeds`: of each kernel at each size, against the same rival; 0 where it is not right. A size at which another
// kernel is more than a twentieth faster is a loss.
OverChoice choose_over(const std::vector<std::vector<double>>& speeds, const std::vector<OverSize>& sizes);

// Times every kernel at every seen size against the plain kernel, by quick checks.
Result<OverChoice> race_over(const std::vector<SearchedTask>& kernels, const judge::Case& rules, const Task& task,
                             const std::vector<OverSize>& sizes);

// `kw optimize --over`. The searches: the order's task at each size that may be seen, an equal part of the budget each.
Result<Order> searches_over(Order order, const std::vector<OverRange>& over);

struct OverSearch {
  std::vector<SearchedTask> kernels;  // that were found, no two the same
  OverChoice choice;
  std::vector<TimedSize> sizes;  // of the chosen one
  Verdict verdict;               // likewise, on the task as it was named
  std::vector<std::filesystem::path> files;

  const SearchedTask& best() const { return kernels[choice.chosen]; }
  bool accepted() const { return verdict.accepted() && all_accepted(sizes); }
};
// Chooses, judges at all sizes, and writes the kernel into the order's folder.
Result<OverSearch> finish_over(const std::vector<SearchedTask>& found, const Order& order,
                               const std::vector<OverRange>& over, const Rivals& rivals, store::Store& store,
                               const std::string& command);
std::string answer_over(const OverSearch& done, const std::vector<OverRange>& over, std::int64_t run, bool as_json);

}  // namespace kw::runs
