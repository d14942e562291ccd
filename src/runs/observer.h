// Where the progress of work on a run goes: to a terminal, to a file of events, nowhere. The work itself prints
// nothing.
#pragma once

#include <cstdint>
#include <string>

#include "core/verdict.h"
#include "report/tally.h"
#include "store/records.h"

namespace kw::runs {

// Called from several threads. One that overrides nothing is told of everything and shows nothing.
class Observer {
 public:
  virtual ~Observer() = default;

  // First of all; and again when there is more to do.
  virtual void plan(const report::PlannedWork&) {}
  // `id` tells those apart that run at the same time; said again, it is at something else now.
  virtual void start(std::int64_t /*id*/, const std::string& /*task*/, const std::string& /*candidate*/,
                     const std::string& /*doing*/) {}
  virtual void finish(std::int64_t /*id*/, const std::string& /*task*/, const std::string& /*candidate*/,
                      const Verdict&) {}
  // Nothing came of it.
  virtual void drop(std::int64_t /*id*/) {}
  // A search's best so far, by its own measure; `rival` is what that is against.
  virtual void best(const std::string& /*task*/, const std::string& /*candidate*/, double /*speedup*/,
                    const std::string& /*rival*/) {}
  // This many more of plan.total are done.
  virtual void advance(std::int64_t /*count*/) {}
  virtual void error(store::EventKind /*kind*/, const std::string& /*text*/) {}
  // A line for a person who watches.
  virtual void note(const std::string& /*line*/) {}
  // Once.
  virtual void end(store::RunState /*state*/) {}
};

}  // namespace kw::runs
