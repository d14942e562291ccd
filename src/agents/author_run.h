// Kernels written by language models, with a record: sessions of an author over the tasks of a run, each round in the
// record before the next begins.
//
// A task is finished when an event of the record says so; resuming lets the others go on from the round that they had
// come to, with the rounds of the record. Budgets for the model hold for each start of the program, not for
// the whole run.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/round_record.h"
#include "agents/session.h"
#include "base/result.h"
#include "llm/budget.h"
#include "runs/rivals.h"
#include "runs/run.h"

namespace kw::agents {

// What a task ended with.
struct AuthoredTask {
  std::string task;
  std::string source;  // of the best kernel; empty: there is none that is right
  Settings settings;
  std::optional<Verdict> verdict;  // of the best, judged once more; or of the last try
  int rounds = 0;
  Times times;
  std::string over;  // why it ended early
  bool finished = false;
  std::vector<std::string> troubles;
  std::vector<std::filesystem::path> files;  // that were written to take away

  bool accepted() const { return verdict && verdict->accepted() && !source.empty(); }
};

class AuthorWork : public runs::Work {
 public:
  // All must outlive it. `terms` may differ from the record's in budgets.
  // `decisions`: of a tape that is recorded or replayed; may be null.
  AuthorWork(const runs::AuthorTerms& terms, const runs::Rivals& rivals, llm::Client& client, const Prompts& prompts,
             Decisions* decisions = nullptr)
      : terms_(terms), rivals_(rivals), client_(client), prompts_(prompts), decisions_(decisions) {}

  // Fails where the run is the work of another author or model.
  Status prepare(runs::Run& run) override;
  report::PlannedWork plan(const runs::Run& run) const override;
  std::size_t items() const override { return left_.size(); }
  int workers() const override;
  Status do_item(runs::Run& run, runs::Observer& observer, const std::shared_ptr<judge::Judge>& judge,
                 std::size_t index) override;
  Result<std::string> unfinished(runs::Run& run) override;

  // In the order of the tasks.
  const std::vector<AuthoredTask>& results() const { return results_; }

 private:
  // What is in the record of a task.
  struct Written {
    std::vector<Round> rounds;
    std::map<int, std::string> candidates;  // hashes, by round
  };

  Status read_record(runs::Run& run);
  std::string author_name() const { return terms_.author + " with " + client_.name(); }
  std::string spent_text() const;
  std::string kernel_name() const;  // what the record calls a model's kernel
  Result<Verdict> judge_again(judge::Judge& judge, const judge::Case& one);
  Status confirm(runs::Run& run, runs::Observer& observer, judge::Judge& judge, std::size_t place, const Round& best);
  Status record(runs::Run& run, runs::Observer& observer, std::size_t place, const Round& round,
                const judge::Case& asked, double spent_s);
  Status end(runs::Run& run, runs::Observer& observer, std::size_t place, const SessionResult& outcome);
  Status take_away_if_asked(std::size_t place);
  // The kernel to begin with on this task.
  Result<Start> start_of(runs::Run& run, const Task& task) const;

  const runs::AuthorTerms& terms_;
  const runs::Rivals& rivals_;
  llm::Client& client_;
  const Prompts& prompts_;
  Decisions* decisions_;
  runs::Order order_;
  SessionOptions options_;
  std::vector<AuthoredTask> results_;   // of each task; one thread at a time has one
  std::vector<Written> written_;        // of each task
  std::vector<std::size_t> left_;       // places of tasks that are not finished
  std::string over_;                    // why the last of those that ended early did
  std::atomic<bool> hopeless_ = false;  // nothing more is begun
  judge::Floor floor_{most_at_once(), kTimedInOneGo};
  std::mutex lock_;  // of over_ and of the lessons

  static constexpr int kTimedInOneGo = 8;  // kernels of several tasks, while nothing is built
  static int most_at_once();
};

}  // namespace kw::agents
