// The work on a run, as commands show it: progress and Ctrl-C meanwhile, tables or JSON at the end. `kw eval --batch`,
// `kw optimize`, `kw bench` and `kw resume` print the same things for the same run.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "agents/author_run.h"
#include "base/result.h"
#include "cli/progress_flags.h"
#include "runs/order.h"
#include "runs/rivals.h"
#include "runs/search_run.h"
#include "store/store.h"

namespace kw::cli {

// What a command that works on a run has at hand.
struct Terminal {
  store::Store& store;
  runs::Progress& progress;
  std::ostream& out;
  bool json = false;
  bool is_resumed = false;
};

// A line of JSON for each verdict, when it is on the disk. The exit code is about the whole run: kYes where all of it
// was accepted, kBroken where a part could not be judged.
Result<int> work_on_batch(const Terminal& terminal, std::int64_t run, const runs::Rivals& rivals);

// The search alone: what came of its tasks, in their order.
Result<std::vector<runs::SearchedTask>> searched(const Terminal& terminal, std::int64_t run,
                                                 const runs::Rivals& rivals);
// What `kw optimize` and `kw bench` print: the first where the order has a folder for the kernel.
Result<int> work_on_search(const Terminal& terminal, std::int64_t run, const runs::Rivals& rivals);

// `kw optimize` and `kw bench`: begins the order's run, by an author that asks a model where the arguments say so,
// works on it and prints what came of it.
Result<int> begin_search(const Arguments& arguments, runs::Order order, const runs::Rivals& rivals, std::ostream& out);

// What came of a run of an author that asks a model.
struct AuthorRun {
  std::int64_t run = 0;
  std::string author;
  std::string model;
  llm::Spent spent;
  judge::Timings timings;
  std::vector<agents::AuthoredTask> tasks;  // in the order of the tasks
};
// As work_on_search.
Result<int> print_author_run(const Terminal& terminal, const AuthorRun& done);
// Begins a run of the order's tasks, or goes on with `run`, and prints what came of it. Of the order, what is said of
// the author is what the arguments say.
Result<AuthorRun> ask_author(const Arguments& arguments, const Terminal& terminal, runs::Order order,
                             const runs::Rivals& rivals, std::optional<std::int64_t> run = {});

using runs::command_line;

}  // namespace kw::cli
