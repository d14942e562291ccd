// What the judge says of a candidate. Failure is data: a kernel that does not compile, is wrong, crashes or never ends
// has a Verdict like any other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/paired_ratio.h"
#include "core/reason.h"

namespace kw {

// How far a candidate came: the stage that stopped it, or accepted. A search leaves most candidates at `quick_check`:
// right on the task's own shape; nothing else was tried.
enum class VerdictStage { build, load, verify, quick_check, hidden, guard, precision, behaviour, time, accepted };
std::string_view name_of(VerdictStage stage);
std::optional<VerdictStage> stage_named(std::string_view name);

// A place in the candidate's source that a reader should look at.
struct SourceError {
  std::string file;
  int line = 0;  // from 1; 0: not known
  std::string message;
  std::string around;  // a few numbered lines
};

// What is known besides of a framework that was called: `median` and the interval of its Speedup are less the cost of
// calling it, these are as called.
struct Called {
  std::string version;
  double median = 0;
  double low = 0;
  double high = 0;
  double time_ns = 0;
  double overhead_ns = 0;
  bool apart = false;  // what is left without calling it was timed by itself, as a graph of a GPU

  // So near to the cost of an empty call that the comparison says little about the operator.
  bool overhead_decides() const { return !apart && time_ns < 5 * overhead_ns; }
};

// A rival that was to run and whose time does not count.
struct LeftOut {
  std::string rival;
  std::string version;
  std::string why;
  bool by_accident = false;  // it crashed or did not answer in time: judged again, it may run
};

// One rival's median of paired ratios: above 1 the candidate is the faster one.
struct Speedup {
  std::string rival;
  double median = 0;
  double low = 0;  // 95 % bootstrap interval
  double high = 0;
  int pairs = 0;
  bool claimed = false;          // the difference is larger than what identical kernels show here
  std::vector<Pair> times;       // what it rests on: of one call, the candidate's and the rival's
  std::optional<Called> called;  // of a framework
  std::optional<Ratio> warm;     // the same with warm caches, where both were timed and the times are cold ones
};

// What a verdict rests on. Nothing is known beyond it.
struct Coverage {
  // Of a named length: the smallest and the largest that was tried, and how many different ones.
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    int count = 0;
  };
  int shapes = 0;  // the task's own among them
  int cases = 0;   // shapes with values
  std::map<std::string, Range> lengths;
  std::map<std::string, int> input_classes;  // how many cases of each
  std::vector<std::string> own_classes;      // those that the task's own shape was tried on
  std::set<int> threads;                     // numbers of threads that were allowed
  std::vector<std::string> placements;       // of tensors: "aligned", "at the end of memory", ...
  int instances = 1;                         // of the kernel that were prepared at once, with other weights
  int calls_in_a_row = 0;                    // of one shape, all right
  bool neighbours = false;                   // every write to an output was watched
  int timed_calls_verified = 0;              // against the reference

  bool empty() const { return cases == 0; }
};
// In sentences, one an element: "right on 118 shapes: D in [0, 4096], N in [0, 512]".
std::vector<std::string> text_of(const Coverage& coverage);

// What a device was like while a candidate was timed on it: a phone gets hot, and slower.
struct Conditions {
  double slowest = 1;  // how many times as long the same instructions took at worst as at best, while laps were timed
  std::optional<double> mhz_least = {}, mhz_most = {};  // of the core; none: not said
  std::optional<double> celsius_first = {}, celsius_most = {};
  int pauses = 0;  // until it was as fast as before
  double paused_s = 0;
  std::vector<std::string> slowed_by = {};  // what held a GPU's clock down: "power cap", "heat"
};
// "core at 1800 to 2400 MHz, 41 to 52 degrees; up to 3 % slower than at best; 1 pause, 3.5 s"
std::string text_of(const Conditions& conditions);

struct Verdict {
  std::string task;
  std::string target;
  VerdictStage stage = VerdictStage::build;
  Reason reason;  // why it stopped; none when accepted
  std::vector<SourceError> errors;
  double max_error = 0;  // the largest error over all that was compared, in parts of what is allowed
  std::optional<double> time_ns;
  std::string caches;                  // "warm" or "cold"
  std::optional<double> warm_time_ns;  // with warm caches, where both were timed and `time_ns` is the cold one
  std::vector<Speedup> speedups;
  std::vector<LeftOut> left_out;
  std::optional<double> roof_fraction;
  std::optional<double> noise;  // the largest difference that two copies of one kernel showed in this run, as a share
  std::optional<Conditions> conditions;  // of a device that is watched
  std::string isolation;                 // of the sandbox
  bool varies = false;                   // the kernel does not promise the same bits
  bool only_quick_check = false;         // only in a quick check (judge/quick_check.h): no proof of anything
  bool kept = false;                     // judged earlier, not now

  Coverage coverage;  // of the examination; empty in records from before November 2026

  bool accepted() const { return stage == VerdictStage::accepted; }
};

}  // namespace kw
