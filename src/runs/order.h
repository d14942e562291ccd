// What a run was asked to do: written into its record when it begins, and read back by whatever works on it, now or
// after a crash.
//
// Its JSON has a version. Version 1 had none written in it, kept numbers of authors as text, and knew no `out`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "judge/judge.h"
#include "store/records.h"

namespace kw::runs {

inline constexpr int kOrderVersion = 2;

// Of a search over tunables.
struct SearchTerms {
  std::string author = "templates";
  std::string strategy = "auto";
  std::string budget = "3s";  // of each task; search/engine.h reads it
  double within_s = 0;        // of all tasks together, judging the best included; 0: as long as it takes
  std::int64_t seed = 1;
  // Of within_s, by the task's place; a task whose turn comes when the time is over is left out. Empty: all get the
  // same, and none is left out.
  std::vector<double> shares = {};
};

// Of an author that asks a language model. What the model may cost is for each sitting.
struct AuthorTerms {
  std::string author;
  std::string model;              // as it was named
  std::string asked;              // what the model calls itself
  int rounds = 0;                 // 0: as many as the author usually takes
  int in_flight = 1;              // requests at once
  std::string start = "nothing";  // nothing, plain, best; own: the order's kernel
  std::string prompts = {};
  std::string prompts_version = {};  // of all prompts together
  std::string repository = {};
  std::optional<double> temperature = {};  // none: the endpoint's own
  std::optional<std::int64_t> seed = {};   // of sampling
  std::optional<double> tokens = {};
  std::optional<double> usd = {};
  std::optional<double> seconds = {};
  bool no_stream = false;
};

struct Order {
  store::RunKind kind = store::RunKind::batch;
  std::string suite = {};
  // How candidates are judged, and whether verdicts of earlier runs may be taken over.
  judge::Case rules = {};  // threads, cold, budget_s, pairs, timed, against
  bool fresh = true;
  std::string rivals = "none";  // what chooses the same frameworks again
  // Of searches and authors.
  std::vector<Task> tasks = {};
  std::optional<judge::Source> kernel = {};  // the user's own, to begin with
  std::string out = {};                      // the folder of the kernel to take away; empty: none is written
  SearchTerms search = {};
  AuthorTerms author = {};
};

// --start nothing, plain, best, or a file, whose kernel then is the order's.
Status take_start(AuthorTerms& terms, Order& order);

// This program's words, as they were typed.
std::string command_line();

// The run as the store begins it.
store::NewRun run_of(const Order& order, const std::string& command);

// An Error where it is damaged, or of a newer kw.
Result<Order> order_of(const store::RunSummary& run);

}  // namespace kw::runs
