// The desk: takes kernels in, has them judged, and knows what became of each.
//
// A submission is on the disk before its id is given out. The loop that works on all runs (runs/run.h) works off the
// desk's queue too: it builds and examines several kernels at once and times one alone (judge/floor.h). Verdicts are
// recorded in a run for each client, so that `kw runs`, `kw best` and `kw resume` know them. The queue is bounded: what
// does not fit is refused, not lost.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/judge.h"
#include "store/store.h"
#include "suites/suite.h"

namespace kw::mcp {

struct DeskRules {
  std::string device = targets::usual_device();
  std::filesystem::path store_folder;
  std::string command;          // how the program was started, for the record
  std::string rivals = "none";  // what chooses the same `frameworks` again
  // The frameworks that run beside a task's kernels. Asked by one thread at a time; empty: none.
  std::function<Result<std::vector<judge::FrameworkRival*>>(const Task& task, int threads)> frameworks = {};
  std::vector<Task> tasks = {};  // besides those of the installed suites
  std::size_t most_waiting = 64;
};

// How much a search over a kernel's tunables may spend.
struct Tuning {
  int candidates = 40;
  double seconds = 20;
};

struct Submission {
  const Task* task = nullptr;  // the desk's own
  judge::Source source;
  Settings settings;
  std::vector<judge::Source> against;
  bool timed = true;
  double budget_s = 1;     // of timing
  std::string notes;       // the author's own words
  bool look_into = false;  // at the machine code of a right kernel, for JobStatus::code
  std::optional<Tuning> tuning;
};

enum class JobState { waiting, examining, timing, tuning, judged, failed, stopped };
std::string_view name_of(JobState state);

// What a search over a kernel's tunables found.
struct Tuned {
  std::string id;  // under which the winner is recorded
  Settings settings;
  Verdict verdict;
  int tried = 0;
};

// How far a submission is.
struct JobStatus {
  std::string id;  // "r3.5": the fifth of run r3
  std::string task;
  std::string file;
  JobState state = JobState::waiting;
  std::size_t ahead = 0;  // of it in the queue
  std::optional<Verdict> verdict;
  std::string problem;  // why it could not be judged, or tuned, which is no fault of its own
  std::optional<Tuned> tuned;
  std::string
      code;  // the loops of its machine code, as our own authors are told; of a right kernel of this desk's life

  bool over() const { return state >= JobState::judged; }
};

// A submission as it was made.
struct Submitted {
  JobStatus progress;
  judge::Source source;
  Settings settings;
};

class Desk {
 public:
  using Clock = std::chrono::steady_clock;

  static Result<std::unique_ptr<Desk>> open(DeskRules rules);
  // Waits for what is being judged; the rest stays open in the record.
  ~Desk();

  const std::string& device() const { return rules_.device; }

  // --- tasks -------------------------------------------------------------------------------------------------------
  const std::vector<suites::Suite>& suites() const { return suites_; }
  // By its name, or SUITE/NAME. No files are read: a client has no business with paths.
  Result<const Task*> find_task(const std::string& name) const;

  // --- kernels -----------------------------------------------------------------------------------------------------
  // Returns when it is recorded. Fails where the queue is full.
  Result<JobStatus> submit(const std::string& client, Submission submission);
  Result<JobStatus> look(const std::string& id) const;
  Result<Submitted> find(const std::string& id) const;
  // Returns when it is over, at `until`, or when `stop` is asked for; tells each change on the way.
  Result<JobStatus> wait(const std::string& id, Clock::time_point until, std::stop_token stop,
                         const std::function<void(const JobStatus&)>& changed) const;

  // --- the record --------------------------------------------------------------------------------------------------
  // Calls `use` with the store, or with nothing where there is none yet. Others wait meanwhile.
  Status with_store(const std::function<Status(const store::Store*)>& use) const;

  // All `wait`s return at once, with the state as it is.
  void hurry();
  // Nothing more is begun or recorded; what has no verdict can be resumed.
  void stop();

 private:
  struct Inside;
  explicit Desk(DeskRules rules);

  DeskRules rules_;
  std::vector<suites::Suite> suites_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace kw::mcp
