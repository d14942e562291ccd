#include "judge/hidden_work.h"

#include <algorithm>
#include <cmath>

#include "base/paired_ratio.h"

namespace kw::judge {
namespace {

// CPU time of a turn outside of its lap that nobody is charged with, beyond what a rival needs: a part of the lap,
// since who uses much memory leaves the host's own in a slower place, and so much in any case.
constexpr double kFreeShare = 0.01;
constexpr double kFreeNs = 300;
// What is charged beyond this is no chance; where the clock's reader was interrupted in nearly every turn, beyond a lap
// and so much.
constexpr double kMostShare = 0.1;
constexpr double kMostNs = 2'000;
constexpr double kMostNsWhenBusy = 1'000'000;
// Medians that differ by so many of their standard errors differ.
constexpr double kSureErrors = 4;

// The standard error of a median, from the spread around it.
double error_of_median(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> distances;
  for (double value : values) distances.push_back(std::fabs(value - middle));
  return 1.86 * median_of(distances) / std::sqrt(static_cast<double>(values.size()));
}

std::vector<double> seen_in(const std::vector<const Turns*>& kernels, bool only_clean) {
  std::vector<double> seen;
  for (const Turns* turns : kernels) {
    for (std::size_t i = 0; i < turns->excess_ns.size(); ++i) {
      if (turns->clean[i] || !only_clean) seen.push_back(turns->excess_ns[i]);
    }
  }
  return seen;
}

}  // namespace

Excess excess_of(const Turns& own, const std::vector<const Turns*>& others, double lap_ns) {
  std::vector<double> ours = seen_in({&own}, true), theirs = seen_in(others, true);
  const bool sure = std::min(ours.size(), theirs.size()) >= kFewestPairs;
  if (!sure) {
    ours = seen_in({&own}, false);
    theirs = seen_in(others, false);
  }
  const double tolerated_ns = sure ? kMostShare * lap_ns + kMostNs : lap_ns + kMostNsWhenBusy;
  if (ours.empty() || theirs.empty()) return {0, tolerated_ns};
  const double error = std::hypot(error_of_median(ours), error_of_median(theirs));
  const double free_ns = kSureErrors * error + kFreeShare * lap_ns + kFreeNs;
  return {std::max(median_of(ours) - median_of(theirs) - free_ns, 0.0), tolerated_ns};
}

}  // namespace kw::judge
