// What a run amounts to, in the figures that the field compares: how many tasks got a kernel that builds (CSR), one
// that is right (FCR), and one that is faster than a rival by a factor p (fast_p).
//
// A run may try thousands of candidates; a figure counts tasks, each by one chosen candidate. docs/figures.md has the
// formulas, the choice and what is left out. Nothing here prints.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "report/limits.h"
#include "store/store.h"

namespace kw::report {

// The p of fast_p.
inline constexpr std::array<double, 4> kSpeeds = {0.5, 1, 1.5, 2};
std::string name_of_speed(double p);  // "1.5"

// The rival that stands for the fastest right one of each task.
inline constexpr char kBest[] = "best";

// The chosen candidate beside one rival; above 1 the candidate is the faster one.
struct Against {
  std::string rival;
  std::string version = {};
  double median = 0;  // of a framework: less the cost of calling it
  double low = 0;     // 95 % interval
  double high = 0;
  bool claimed = false;               // more than two copies of one kernel differ by
  std::optional<double> called = {};  // of a framework: the median as called
  bool overhead_decides = false;      // of a framework: calling it takes a good part of its time
};

// What became of one task.
struct Outcome {
  std::string task;
  std::string category = {};
  std::string task_hash = {};  // empty: nothing of it was planned
  std::string suite = {};

  std::int64_t candidates = 0;  // different ones, with a verdict
  std::int64_t open = 0;        // planned, without one
  double spent_s = 0;           // over all of them

  // The chosen candidate's; nothing below is set where no candidate has a verdict.
  std::optional<VerdictStage> stage = {};
  std::string reason = {};
  bool confirmed = false;  // measured again after it was chosen
  std::int64_t item = 0;
  std::string file = {};
  std::string candidate_hash = {};
  std::string source_hash = {};
  std::string settings = {};
  std::string author = {};
  std::string at = {};
  std::string terms = {};
  std::int64_t machine = 0;
  std::optional<double> time_ns = {};
  std::optional<double> noise = {};
  std::optional<double> roof_fraction = {};
  Limit limit = Limit::none;  // of the task; none where its record cannot be read
  std::vector<Against> against = {};
  std::vector<LeftOut> left_out = {};  // rivals that cannot run the task right

  bool is_built() const { return stage && *stage > VerdictStage::load; }
  bool is_right_on_own_shapes() const { return stage && *stage > VerdictStage::verify; }
  bool is_accepted() const { return stage == VerdictStage::accepted; }
  // Its luck is counted: the best of several, and the choice rests on the measurement that is shown.
  bool is_lucky() const { return is_accepted() && candidates > 1 && !confirmed; }
  // By name, or kBest: the least of the medians, with the least of both ends. None where they did not race.
  std::optional<Against> beside(const std::string& rival) const;
  bool is_left_out(const std::string& rival) const;
};

// How a set of tasks stands against one rival. Counts are of tasks.
struct RivalFigures {
  std::string rival;
  int tasks = 0;                              // that count: all of the set but the two below
  int left_out = 0;                           // the rival cannot run them right
  int unmeasured = 0;                         // accepted, and it was not there
  int raced = 0;                              // accepted, and it was
  std::array<int, kSpeeds.size()> fast = {};  // as kSpeeds: the median is above p
  std::array<int, kSpeeds.size()> sure = {};  // the lower end is
  std::optional<double> geomean = {};         // of those that raced
  std::optional<double> median = {};

  // 0 to 1; none where no task counts.
  std::optional<double> share(int count) const;
};

// How a set of tasks stands. Counts are of tasks.
struct Figures {
  std::string category = {};  // empty: all
  int tasks = 0;
  int built = 0;                             // CSR
  int right_on_own_shapes = 0;               // FCR by the looser rule
  int accepted = 0;                          // FCR
  int lucky = 0;                             // chosen among several, and not measured again
  std::vector<RivalFigures> rivals = {};     // in the order of the races, kBest last; none where nothing was timed
  std::optional<double> roof_fraction = {};  // the median of the accepted ones
  std::int64_t candidates = 0;
  double spent_s = 0;

  std::optional<double> share(int count) const;
  const RivalFigures* against(const std::string& rival) const;
};

// Of any outcomes; `category` is only put down.
Figures figures_over(std::span<const Outcome> outcomes, const std::string& category = "");

struct RunFigures {
  store::RunSummary run;
  std::vector<Outcome> outcomes;  // in the order in which tasks were planned
  Figures overall;
  std::vector<Figures> categories;                  // in the order of the tasks
  std::map<VerdictStage, std::int64_t> stages;      // where candidates ended, each once
  std::int64_t unreadable = 0;                      // items that named no task or no kernel, and count nowhere
  std::map<std::int64_t, store::Machine> machines;  // of the chosen candidates
  // Of each rival: its versions and how many tasks met each. The plain kernel's source is another one for each task and
  // is no part of this.
  std::map<std::string, std::map<std::string, int>> versions;
  // What a reader must know before comparing: sentences.
  std::vector<std::string> remarks;
};

// A run may say in its rules for which tasks it set out, as {"tasks": [{"name", "category"}, ...]}: those of which
// nothing was planned yet count as tasks without a kernel.
Result<RunFigures> figures_of(const store::Store& store, std::int64_t run);
// Of outcomes that the caller holds already; fills overall, categories, versions and the remarks that follow from them.
RunFigures figures_of(store::RunSummary run, std::vector<Outcome> outcomes);

// One object: run, tasks, csr, fcr, fcr_own_shapes, fast {RIVAL: {"0.5", "1", "1.5", "2", sure: the same}}, geomean
// {RIVAL}, median {RIVAL}, left_out {RIVAL}, unmeasured {RIVAL}, roof_fraction, unconfirmed, candidates, seconds,
// categories {NAME: all of these but run}, machines, versions {RIVAL: {VERSION: tasks}}, remarks. Shares are 0 to 1;
// null where there is nothing to divide by.
std::string figures_as_json(const RunFigures& figures);

}  // namespace kw::report
