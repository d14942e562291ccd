// Kernels written by language models, as `kw optimize` and `kw bench` let them: sessions of the agents over tasks, each
// round in the record before the next begins.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "agents/session.h"
#include "base/result.h"
#include "cli/commands.h"
#include "models/budget.h"
#include "store/store.h"

namespace kw::cli {

Option author_option();
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
  std::vector<std::string> troubles;

  bool accepted() const { return verdict && verdict->accepted() && !source.empty(); }
};

struct AgentRun {
  std::int64_t run = 0;
  std::string model;
  std::string author;
  models::Spent spent;
  std::vector<AgentTask> tasks;  // in the order of the tasks
};

Result<AgentRun> run_agents(const Arguments& arguments, std::vector<Task> tasks, const std::string& suite,
                            store::Store& store);

void print_agent_summary(const AgentRun& run, const AgentTask& task, std::ostream& out);
// {"name", "author", "rounds", "requests", "input_tokens", "output_tokens", "usd", "model_s", "judge_s", "own_s",
// "over", "troubles"}
std::string agent_summary_json(const AgentRun& run, const AgentTask& task);

}  // namespace kw::cli
