// A search with a record: `kw optimize` and `kw bench` begin one, `kw resume` goes on with it.
//
// What is searched, and how, is in the run's rules; every candidate that was tried is in the record with its verdict
// before the search learns from it. A task is finished when its winner was judged in full (purpose `confirm`); on
// resuming, tasks that are not begin anew and are told what is known of their candidates already.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/progress.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/judge.h"
#include "store/store.h"

namespace kw::cli {

struct SearchOrder {
  std::vector<Task> tasks;
  std::string suite = {};
  std::string author = "templates";
  std::string strategy = "auto";
  std::string budget = "3s";  // of each task; search/engine.h reads it
  double within_s = 0;        // of all tasks together, judging the best included; 0: as long as it takes
  double confirm_s = 0.5;     // of timing the winner
  std::string rivals = {};    // as Guests calls them
  std::int64_t seed = 1;
  int threads = 1;
  bool cold = false;
  std::optional<judge::Source> kernel = {};  // a user's own, in place of the author's
};

Result<std::int64_t> begin_search(store::Store& store, const SearchOrder& order);
bool is_search(const store::RunSummary& run);

// What a task ended with.
struct SearchedTask {
  std::string task;
  std::string technique;
  std::string file;
  std::string source;
  Settings settings;
  Verdict verdict;
  int tried = 0;
  bool exhausted = false;
};

// Works on what is left of the run until it is done. `ended` is called with each task that is finished now.
using TaskEnded = std::function<void(const SearchedTask& task)>;
Status work_on_search(store::Store& store, std::int64_t run, Progress& progress, const TaskEnded& ended);

}  // namespace kw::cli
