// The judge: takes an untrusted kernel and says whether it is right, how fast it is, and how sure that is.
//
// build -> load -> verify -> hidden -> guard -> precision -> behaviour -> time. Building and examining may go on for
// several candidates at once; timing is for one at a time.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/examine.h"
#include "judge/race.h"
#include "judge/secret.h"
#include "targets/target.h"

namespace kw::judge {

using targets::Built;
using targets::Source;

// The device of a command that names none.

// What is to be judged, and how.
struct Case {
  std::string device = targets::usual_device();  // that the judge was opened for
  const Task* task = nullptr;
  Source source;
  Settings settings;
  std::vector<Source> against;              // rivals besides the plain kernel
  std::vector<FrameworkRival*> frameworks;  // and frameworks
  // A rival that is built already, timed before all others; for searches, in which all candidates meet the same one.
  std::shared_ptr<const Built> reference = nullptr;
  int threads = 1;
  bool cold = false;
  double budget_s = 2;       // of timing
  std::optional<int> pairs;  // exactly this many, no early end
  bool plain = true;         // the plain kernel is a rival
  const QuickCheck* quick_check = nullptr;
  bool timed = true;  // false: stops when the candidate is known to be right
};

// A case on its way: built and examined, not yet timed.
struct Inspected {
  Verdict verdict;  // says accepted when nothing was found against it
  std::shared_ptr<const Built> built;
  std::vector<ElementBound> allowed;
  std::string plain_problem;  // why the plain kernel is no rival here
  std::vector<NamedBuild> rivals;
  std::vector<std::shared_ptr<const Built>> rival_builds;
};

// How many cases were timed so far, and how many at most at the same moment: 1, since callers time from one thread or
// take turns (floor.h).
struct Timings {
  int count = 0;
  int most_at_once = 0;
};

class Judge {
 public:
  // For the kernels of one device, by its name (targets/target.h).
  static Result<Judge> open(const std::string& device = targets::usual_device());
  // Takes over what another judge of the same device had built before that device went away. Call it before anything
  // else.
  void keep_builds_of(const Judge& before);

  // An Error, and no verdict, where the device goes away meanwhile.
  Result<Verdict> judge(const Case& one);

  // The two halves. `inspect` may be called from several threads, `time` from one.
  Result<Inspected> inspect(const Case& one);
  Result<Verdict> time(const Case& one, Inspected inspected);

  Timings timings() const;

  targets::Device& device() { return *device_; }

 private:
  // Builds, or takes what was built before: a search judges in full what it has checked quickly, and all candidates of
  // a task meet the same rivals.
  Result<std::shared_ptr<const Built>> build(const Source& source, const Choice& choice);

  Judge* count_timing();

  std::unique_ptr<targets::Device> device_;
  std::unique_ptr<std::mutex> lock_;  // of what follows
  Timings timings_;
  int timing_now_ = 0;
  std::map<std::string, std::shared_ptr<const Built>> built_;  // the last ones, by source and choice
  std::deque<std::string> built_order_;                        // their keys, the oldest first
};

}  // namespace kw::judge
