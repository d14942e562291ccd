// Long work shows where it stands: on a terminal as one live block below whatever else is printed, without one as a
// line now and then, for programs as events. All of it goes to standard error; the answer has standard output to
// itself.
//
// The cursor rests at the block's beginning. Whatever a terminal does to lines when it is resized, all of the block is
// behind the cursor, and erasing from there on leaves nothing of it and takes nothing else.
//
// An event is one JSON object a line; each has `event` and `at`:
//   planned   run, unit, total (null: not known), done, budget_s (null)
//   started   id, task, candidate, doing
//   finished  id, task, candidate, accepted, stage, reason (null), time_ns (null), speedup {RIVAL: median}
//   best      task, candidate, speedup, rival: the hardest one; only where it is the task's best so far
//   advanced  done, total (null)
//   error     kind, text
//   ended     state (done, stopped), done, total (null), judged, accepted, errors {KIND: count}, seconds
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "core/verdict.h"
#include "report/tally.h"
#include "runs/observer.h"

namespace kw::runs {

// May be called from several threads.
class Progress : public Observer {
 public:
  enum class Style { live, lines, quiet };
  struct Where {
    Style style = Style::quiet;
    int fd = 2;           // the block or the lines
    int events_fd = -1;   // -1: no events. Closed at the end, unless it is standard error
    double every_s = 10;  // between two plain lines
    bool notes = true;    // lines that stay are shown
  };

  explicit Progress(Where where);
  // Says nothing more than end() has said: a block that is left over is erased.
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_quiet() const;

  // What was counted before a second plan() stays counted.
  void plan(const report::PlannedWork& plan) override;
  void start(std::int64_t id, const std::string& task, const std::string& candidate, const std::string& doing) override;
  void finish(std::int64_t id, const std::string& task, const std::string& candidate, const Verdict& verdict) override;
  void drop(std::int64_t id) override;
  void best(const std::string& task, const std::string& candidate, double speedup, const std::string& rival) override;
  // The bar moves.
  void advance(std::int64_t count = 1) override;
  void error(store::EventKind kind, const std::string& text) override;
  // A line of the answer that does not run into the block.
  void print(std::ostream& out, const std::string& line);
  // A line of progress that stays, above the block; none where it is quiet, or the answer is JSON.
  void note(const std::string& line) override;
  // The block goes and a summary stays. Once.
  void end(store::RunState state) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::runs
