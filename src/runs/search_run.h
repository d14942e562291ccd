// A search with a record: `kw optimize` and `kw bench` begin one, `kw resume` goes on with it.
//
// Every candidate that was tried is in the record with its verdict before the search learns from it. A task is finished
// when its winner was judged in full (purpose `confirm`); on resuming, tasks that are not begin anew and are told what
// is known of their candidates already. The kernel to take away is written whenever a finished task is seen, so that a
// resumed run leaves what the first command would have left.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "compose/techniques.h"
#include "runs/rivals.h"
#include "runs/run.h"
#include "search/engine.h"

namespace kw::runs {

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
  std::vector<std::filesystem::path> files = {};  // that were written to take away
};

// "keep the kernel of onnxruntime": where no technique served the task and a framework is faster, what was found is no
// result to use. Else "".
std::string advice_on(const SearchedTask& task);

class SearchWork : public Work {
 public:
  // `ended` is called with each task that is finished now. `rivals` must outlive it.
  using TaskEnded = std::function<void(const SearchedTask& task)>;
  SearchWork(const Rivals& rivals, TaskEnded ended) : rivals_(rivals), ended_(std::move(ended)) {}

  Status prepare(Run& run) override;
  report::PlannedWork plan(const Run& run) const override;
  std::size_t items() const override { return left_.size(); }
  Status do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>& judge, std::size_t index) override;
  Result<std::string> unfinished(Run& run) override;

  // In the order of the tasks: those that are finished, by this program or an earlier one.
  std::vector<SearchedTask> results() const;

 private:
  using Clock = std::chrono::steady_clock;

  // One task is not counted as tasks, but by its candidates: "0 of 1" until the end says nothing.
  bool is_of_one_task() const { return order_.tasks.size() == 1; }
  Status read_record(Run& run);
  Result<SearchedTask> winner_of(const store::Store& store, const store::Recorded& one) const;
  search::Budget budget_of(std::size_t place);
  double share_of(std::size_t place) const { return order_.search.shares.empty() ? 1 : order_.search.shares[place]; }
  Result<std::vector<search::Kernel>> kernels_of(const ops::Graph& graph) const;
  Result<SearchedTask> search_one(Run& run, Observer& observer, judge::Judge& judge, const Task& task,
                                  const search::Budget& budget);
  Status take_away_if_asked(const Task& task, SearchedTask& result) const;

  const Rivals& rivals_;
  const TaskEnded ended_;
  Order order_;
  search::Budget budget_;
  search::StrategyKind strategy_;
  std::vector<compose::Technique> techniques_;
  BuildOptions options_;
  std::vector<std::size_t> left_;                 // places of tasks that have no winner
  std::map<std::string, SearchedTask> finished_;  // by the hashes of tasks
  // Of each task: what came of each candidate.
  std::map<std::string, std::map<std::string, std::optional<double>>> known_;
  // How long judging the best takes: what a task's share of the time leaves for searching hangs on it.
  std::optional<Clock::time_point> begin_;
  double judged_s_ = 0, judged_sizes_ = 0, sizes_left_ = 0;
  double shares_left_ = 0;
};

}  // namespace kw::runs
