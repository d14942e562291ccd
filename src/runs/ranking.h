// Which kernel of the record is the best for a task on this machine?
//
// Times of different hours do not compare well: a machine's mood moves them by tens of percent. Each verdict has the
// rival that it alternated with, so that kernels that met the same version of it are ranked by how much faster than the
// rival they were. The winners over different versions have only their times to go by; that is done, and said.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/tunables.h"
#include "store/store.h"

namespace kw::runs {

struct Ranking {
  store::AcceptedKernel best;
  std::size_t compared = 0;       // that met the same version of the rival, the best among them
  std::size_t ties = 0;           // of those, others that cannot be told apart from it
  std::size_t by_time_alone = 0;  // that met other versions, or other rivals
  std::size_t other_terms = 0;    // not compared: cold caches with warm ones, one thread with four
};

// Under the terms of the newest one. `all` is not empty, the newest first.
Ranking ranking_of(std::vector<store::AcceptedKernel> all);

// The hash of the snapshot that is meant: the task as it is `now`, if it was judged so; else the one of that name that
// was judged last; empty where there is none.
Result<std::string> snapshot_meant(const store::Store& store, const std::string& name, const Task* now);

// The fastest kernel for a task that was accepted and timed on this machine; none where there is none.
struct BestKernel {
  std::string source;
  Settings settings;
};
Result<std::optional<BestKernel>> best_kernel(const store::Store& store, const Task& task, const std::string& device);

// The names of all tasks of the record: the nearest of them are offered.
Result<std::vector<std::string>> recorded_tasks(const store::Store& store);

}  // namespace kw::runs
