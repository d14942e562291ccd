// Kernels written by language models, as `kw optimize` and `kw bench` let them: sessions of the agents over tasks, each
// round in the record before the next begins.
//
// Author, model, rounds, budgets and tasks are in the run's rules. A task is finished when the record says so; `kw
// resume` lets the others go on from the round that they had come to. What the model may cost is for each sitting.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "agents/session.h"
#include "base/result.h"
#include "cli/commands.h"
#include "llm/budget.h"
#include "store/store.h"

namespace kw::cli {

Option author_option();
Option in_flight_option();
// --rounds, --in-flight, --prompts, --repo, and those of the model.
std::vector<Option> agent_options();
// Fails where --author names nobody.
Status check_author(const Arguments& arguments);
bool wants_model(const Arguments& arguments);

// What a task ended with.
struct AgentTask {
  std::string task;
  std::string source;  // of the best kernel; empty: there is none that is right
  Settings settings;
  std::optional<Verdict> verdict;  // of the best, judged once more; or of the last try
  int rounds = 0;
  agents::Times times;
  std::string over;  // why it ended early
  bool finished = false;
  std::vector<std::string> troubles;

  bool accepted() const { return verdict && verdict->accepted() && !source.empty(); }
};

struct AgentRun {
  std::int64_t run = 0;
  std::string model;
  std::string author;
  llm::Spent spent;
  judge::Timings timings;
  std::vector<AgentTask> tasks;  // in the order of the tasks
};

// One that ran into its budget, or whose model is gone, says on stderr how to go on.
Result<AgentRun> run_agents(const Arguments& arguments, const std::vector<Task>& tasks, const std::string& suite,
                            store::Store& store);

bool is_agent_run(const store::RunSummary& run);
// What is not said anew is as the run's rules have it. The model must be the same one.
Result<AgentRun> resume_agents(const Arguments& arguments, store::Store& store, const store::RunSummary& run);

void print_agent_summary(const AgentRun& run, const AgentTask& task, std::ostream& out);
// {"name", "author", "rounds", "requests", "input_tokens", "output_tokens", "usd", "model_s", "judge_s", "own_s",
// "over", "troubles"}
std::string agent_summary_json(const AgentRun& run, const AgentTask& task);

}  // namespace kw::cli
