// A framework's part of a race: its own outputs, its times, and whether it is still in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/paired_ratio.h"
#include "judge/framework_rival.h"

namespace kw::judge {

struct FrameworkResult {
  std::string name;
  std::string version;
  std::string dropped;        // why its time does not count; empty: it does
  bool by_accident = false;   // the cause may be gone in another judgement
  double time_ns = 0;         // of one call, as called: the median
  double overhead_ns = 0;     // of that, what calling costs
  bool apart = false;         // the operator's own time was measured by itself, as a CUDA graph
  Ratio ratio;                // the candidate against it, less its overhead
  Ratio as_called;            // and with it
  std::optional<Ratio> warm;  // with warm caches, where the others are of cold ones
  std::vector<Pair> pairs;    // as called, or of what was measured apart
};

class FrameworkLane {
 public:
  static FrameworkLane open(FrameworkRival& framework, const Instance& instance, int threads);

  bool in() const { return dropped_.empty(); }
  void drop(std::string why, bool by_accident = false);

  Status arrange(targets::Device& device, const targets::Calls& calls, const Instance& instance, int core);
  void poison(int calls, std::uint8_t value) const;
  // The calls of a group, after an extra one that warms up; the mean time of one is kept where it went well.
  void lap(int calls);
  // Is what it left for this call right? `inputs` are the call's, with anyone's weights.
  Status check(const Instance& instance, std::size_t call, std::vector<Tensor> inputs);
  // The same where the rival itself can compare its answer: why it is wrong, or "".
  Status check_by(std::size_t call, const std::function<Result<std::string>(const targets::Outputs& theirs)>& why);
  // False: it cannot be timed with cold caches, and is left out.
  bool set_cold(bool cold);
  bool needs_check() const { return checked_ < 2; }

  // One a round: as called, or what was measured apart.
  const std::vector<double>& laps_ns() const { return is_apart() ? own_ns_ : laps_ns_; }
  const std::vector<double>& called_ns() const { return laps_ns_; }
  const std::vector<double>& warm_ns() const { return warm_ns_; }  // empty: not timed
  // The candidate against it; none where it is left out or there are too few pairs.
  std::optional<Ratio> ratio(const std::vector<Pair>& pairs, bool as_called, std::uint64_t seed) const;
  // Of laps_ns(), called_ns() and warm_ns(), against the candidate's.
  struct Pairs {
    std::vector<Pair> headline, called, warm;
  };
  FrameworkResult result(Pairs pairs, std::uint64_t seed) const;

 private:
  // What calling costs, of the time of one call.
  double overhead_ns() const;
  bool is_apart() const { return !own_ns_.empty() && own_ns_.size() == laps_ns_.size(); }

  explicit FrameworkLane(FrameworkRival& framework) : framework_(&framework) {}

  FrameworkRival* framework_;
  const targets::Calls* calls_ = nullptr;
  std::unique_ptr<targets::Outputs> outputs_;
  std::vector<double> laps_ns_;  // as called
  std::vector<double> own_ns_;   // where it is timed apart
  std::vector<double> warm_ns_;
  std::vector<double> overheads_ns_;  // one a lap
  std::string dropped_;
  bool by_accident_ = false;
  int checked_ = 0;
};

}  // namespace kw::judge
