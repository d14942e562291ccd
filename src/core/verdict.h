// What the judge says of a candidate. Failure is data: a kernel that does not compile, is wrong, crashes or never ends
// has a Verdict like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/paired_ratio.h"
#include "core/reason.h"

namespace kw {

// How far a candidate came: the stage that stopped it, or accepted. A search leaves most candidates at `glance`: right
// on the task's own shape, and nobody asked further.
enum class VerdictStage { build, load, verify, glance, hidden, guard, precision, behaviour, time, accepted };
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

  // So near to the cost of an empty call that the comparison says little about the operator.
  bool overhead_decides() const { return time_ns < 5 * overhead_ns; }
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
};

struct Verdict {
  std::string task;
  std::string target;
  VerdictStage stage = VerdictStage::build;
  Reason reason;  // why it stopped; none when accepted
  std::vector<SourceError> errors;
  double max_error = 0;  // the largest error over all that was compared, in parts of what is allowed
  std::optional<double> time_ns;
  std::string caches;  // "warm" or "cold"
  std::vector<Speedup> speedups;
  std::vector<LeftOut> left_out;
  std::optional<double> roof_fraction;
  std::optional<double> noise;  // the largest difference that two copies of one kernel showed in this run, as a share
  std::string tier;             // of the sandbox
  bool varies = false;          // the kernel does not promise the same bits
  bool glanced = false;         // only at a glance (judge/glance.h): no proof of anything
  bool kept = false;            // judged earlier, not now

  bool accepted() const { return stage == VerdictStage::accepted; }
};

}  // namespace kw
