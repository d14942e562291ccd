// How fast is the candidate, against others on the same inputs?
//
// In every round each participant runs once, alone and in random order, on the same new inputs; outputs are verified.
// How a lap is timed is the device's business (targets/target.h). Decided here and in the files named: the order of
// turns (turn_order), which laps count (lap_book.h), when to stop (stopping_rule.h), which answers are verified
// (timed_answers.h) and whether work was hidden (hidden_work.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/paired_ratio.h"
#include "base/result.h"
#include "core/task.h"
#include "judge/examine.h"
#include "judge/framework_lane.h"
#include "judge/quick_check.h"
#include "targets/target.h"

namespace kw::judge {

// A kernel that takes part.
struct NamedBuild {
  std::string name;
  const targets::Built* built = nullptr;
};

struct RaceRules {
  int threads = 1;
  bool cold = false;       // caches are emptied of the task's tensors before each call
  double budget_s = 2;     // most of the time that timing may take
  int fewest_rounds = 30;  // before the race may end early
  int most_rounds = 500;
  bool stops_early = true;  // when the answer is clear
  std::uint64_t seed = 0;
  // A quick check: the same inputs in every round, and an early end for a candidate that is much slower.
  const QuickCheck* quick_check = nullptr;
  const LargeTask* large = nullptr;  // of a shape that is the device's alone (large.h)
};

struct RaceResult {
  std::optional<Finding> finding;           // against the candidate
  double time_ns = 0;                       // of one call of the candidate: the median
  std::optional<double> warm_time_ns;       // the same with warm caches, where laps have both
  std::vector<Ratio> ratios;                // against each rival
  std::vector<std::optional<Ratio>> warm;   // the same with warm caches, where laps have both
  std::vector<std::vector<Pair>> pairs;     // which they come from
  std::vector<double> rival_time_ns;        // 0: it was not in the race
  std::vector<std::string> dropped;         // rivals that were wrong or failed, and why; else empty
  std::vector<FrameworkResult> frameworks;  // in their order
  double noise = 0;                         // what two copies of the first rival differed by
  bool disturbed = false;                   // others had the cores: the times say little
  std::optional<Conditions> conditions;     // of the device meanwhile
  int rounds = 0;
  int calls_in_group = 0;
  int verified = 0;  // timed calls whose outputs were held against the reference
};

// The first rival is also run against a copy of itself. `allowed` is Examined's: how far two right answers may differ.
// With no rival the candidate is its own copy. A race that others disturbed is run again, and the quietest counts.
Result<RaceResult> race(const Task& task, targets::Device& device, const NamedBuild& candidate,
                        const std::vector<NamedBuild>& rivals, const std::vector<FrameworkRival*>& frameworks,
                        const std::vector<ElementBound>& allowed, const RaceRules& rules);

}  // namespace kw::judge
