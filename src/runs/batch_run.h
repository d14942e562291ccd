// A batch: candidates that were all written down when the run began, judged many at a time.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "runs/rivals.h"
#include "runs/run.h"

namespace kw::runs {

// What became of a line of a batch, told when it is on the disk.
struct LineAnswer {
  std::int64_t position = 0;
  std::string label = "null";  // JSON: what its author calls it
  std::string verdict = {};    // JSON; empty: there is none
  std::string error = {};      // why there is none

  // One JSON object: the verdict's or an error, with line and id.
  std::string text() const;
};

class Batch : public Work {
 public:
  using Tell = std::function<void(const LineAnswer& answer)>;
  // `rivals` must outlive it.
  Batch(const Rivals& rivals, Tell tell) : rivals_(rivals), tell_(std::move(tell)) {}

  Status prepare(Run& run) override;
  report::PlannedWork plan(const Run& run) const override;
  // A slice of the candidates each: after one a full disk ends the work.
  std::size_t items() const override;
  Status do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>& judge, std::size_t index) override;
  Result<std::string> unfinished(Run& run) override;

 private:
  struct Known;
  Result<judge::Case> case_of(const store::Item& item) const;
  Result<std::optional<Known>> known_verdict(Run& run, const std::string& key) const;
  Status record(Run& run, Observer& observer, const store::Item& item, const judge::Case& one, const Verdict& verdict,
                const std::map<std::string, std::string>* versions);
  Status note_problem(Run& run, Observer& observer, const store::Item& item, const std::string& message);

  const Rivals& rivals_;
  const Tell tell_;
  Order order_;
  std::vector<store::Item> open_;
  std::vector<bool> answered_;         // of each of them: in this program
  std::map<std::string, Task> tasks_;  // by hash; a map does not move what it holds
  std::chrono::steady_clock::time_point last_;
};

// Records a single verdict as a run of its own.
Status record_one(Workplace& workplace, const judge::Case& one, const std::string& command, const Verdict& verdict,
                  double spent_s);

}  // namespace kw::runs
