// The one loop that works on runs: batches, searches, authors that ask a model, and kernels that clients submit.
//
// What a run is to do is written down first (order.h); whatever works on it reads from the record what is left, does
// one item after the other, and commits what came of it before anyone is told. A kind of run says what its items are
// and how one is done (class Work); lock, judge, retries, stopping, progress and the final state are here. Nothing is
// kept outside of a Run and its Workplace, so that several may go on in one program.
//
// The loop itself knows neither runs nor items but pieces (class Pieces): those of one run, which are known when it
// begins, or those of many runs, which come in while it works (src/mcp/desk.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runs/observer.h"
#include "runs/order.h"
#include "runs/stop.h"
#include "runs/workplace.h"
#include "store/run_lock.h"
#include "store/store.h"

namespace kw::runs {

// A run that this program works on: it holds the run's lock. All that writes may be called from several threads, and
// fails once stopping was asked for.
class Run {
 public:
  // Fails where another program works on it.
  static Result<std::unique_ptr<Run>> open(Workplace& workplace, std::int64_t id, Stop& stop);
  static Result<std::unique_ptr<Run>> begin(Workplace& workplace, const store::NewRun& run,
                                            std::span<const store::NewItem> items, Stop& stop);

  std::int64_t id() const { return summary_.id; }
  std::string name() const { return summary_.name(); }
  // As it was when it was opened.
  const store::RunSummary& summary() const { return summary_; }
  Workplace& workplace() { return workplace_; }
  Stop& stop() { return stop_; }

  // Items are numbered from 1; `item` gets its position where it has none. The item's id.
  Result<std::int64_t> add_item(store::NewItem& item);
  // The verdict of an item that was planned. `known`: taken over from an earlier run, with the versions of its rivals.
  Status record(std::int64_t item, const judge::Case& one, const Verdict& verdict, double spent_s,
                const std::map<std::string, std::string>* known = nullptr);
  // An item with its verdict, both or neither.
  Status add_judged(store::NewItem item, const judge::Case& one, const Verdict& verdict, double spent_s);
  Status note(store::EventKind kind, const std::string& text);
  // How many verdicts were recorded by this program.
  std::int64_t recorded() const { return recorded_; }

  // How many of the planned items have no verdict, as the record says it: "2 of 5 have no verdict"; "" where all do.
  Result<std::string> unjudged() const;

  // The final state, once: done, or stopped and why. Later calls change nothing.
  Status end(bool done, const std::string& why = {});

 private:
  Run(Workplace& workplace, store::RunLock lock, Stop& stop)
      : workplace_(workplace), lock_(std::move(lock)), stop_(stop) {}
  // With the record held, unless stopping was asked for.
  Result<std::unique_lock<std::mutex>> hold();

  Workplace& workplace_;
  const store::RunLock lock_;
  Stop& stop_;
  store::RunSummary summary_;
  std::int64_t last_position_ = 0;
  std::atomic<std::int64_t> recorded_ = 0;
  bool ended_ = false;
};

// What one worker has in hand.
class Piece {
 public:
  virtual ~Piece() = default;

  virtual Run& run() = 0;
  // Where the judge is lost meanwhile, it is called again with another one and must go on from the record.
  virtual Status work(const std::shared_ptr<judge::Judge>& judge) = 0;
  // How much it has recorded. Only losses of judges without anything recorded between them are counted as in a row.
  virtual std::int64_t recorded() { return run().recorded(); }
  // Called once, with what `work` ended with at last. An Error ends the loop.
  virtual Status end(Status status) { return status; }
};

// Where the workers of the loop get their pieces.
class Pieces {
 public:
  virtual ~Pieces() = default;

  // From several threads. Waits where more may come; none: nothing is to be begun any more.
  virtual std::shared_ptr<Piece> next() = 0;
  // How many are worked on at the same time, each by a thread.
  virtual int workers() const { return 1; }
};

// The loop: works on all pieces. An Error is the first that a piece ended with; after it none is begun.
Status work_off(Pieces& pieces);

// A kind of work on one run: what its items are, and how one is done.
class Work {
 public:
  virtual ~Work() = default;

  // Reads from the record what is left.
  virtual Status prepare(Run& run) = 0;
  virtual report::PlannedWork plan(const Run& run) const = 0;
  virtual std::size_t items() const = 0;  // that are left
  // How many are done at the same time, each by a thread.
  virtual int workers() const { return 1; }
  // Where the judge is lost meanwhile, it is called again with another one and must go on from the record.
  virtual Status do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>& judge,
                         std::size_t index) = 0;
  // After all items: why the run is not done; empty where it is.
  virtual Result<std::string> unfinished(Run& run) = 0;
};

struct Ended {
  bool interrupted = false;
  std::string unfinished;  // why there is something left; empty: the run is done
};

// Works on a run until nothing is left of it. An Error is a broken machine or a full disk: the run is stopped and can
// be resumed. `is_resumed` is noted in the record.
Result<Ended> work_on(Run& run, Work& work, Observer& observer, bool is_resumed);

}  // namespace kw::runs
