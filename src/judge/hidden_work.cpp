#include "judge/hidden_work.h"

#include <algorithm>
#include <cmath>

#include "base/paired_ratio.h"

namespace kw::judge {
namespace {

// CPU time of a turn outside of its lap that is not charged, beyond what a rival needs: a part of the lap,
// since who uses much memory leaves the host's own in a slower place, and so much in any case.
constexpr double kFreeShare = 0.01;
constexpr double kFreeNs = 300;
// What is charged beyond this is no chance; where the clock's reader was interrupted in nearly every turn, beyond a lap
// and so much.
constexpr double kMostShare = 0.1;
constexpr double kMostNs = 2'000;
constexpr double kMostNsWhenBusy = 1'000'000;
// Means differ when they are this many of the others' standard errors apart.
constexpr double kSureErrors = 6;
// In the others' turns, what is beyond this share of them is chance.
constexpr double kUsualShare = 0.9;
// Where waiting looks like work, turns that are beyond this share of the others' say something.
constexpr double kSureShare = 0.75;
// The largest values of a mean that are left out.
constexpr double kLeftOut = 0.2;

// Without the largest ones.
struct Mean {
  double value = 0;
  double error = 0;
};

Mean mean_of(std::vector<double> values) {
  std::ranges::sort(values);
  values.resize(values.size() - static_cast<std::size_t>(kLeftOut * static_cast<double>(values.size())));
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, std::sqrt(squares / n / n)};
}

double quantile_of(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
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
  Excess excess{.ns = std::vector<double>(own.excess_ns.size(), 0.0),
                .tolerated_ns = sure ? kMostShare * lap_ns + kMostNs : lap_ns + kMostNsWhenBusy};
  if (ours.empty() || theirs.empty()) return excess;
  const double free_ns = kFreeShare * lap_ns + kFreeNs;
  if (!sure) {
    // Waiting for an interrupted judge looks like work, now and then by milliseconds: medians alone tell something.
    // They charge; a kernel is blamed only if nearly all of its turns are beyond nearly all of the others'.
    excess.mean_ns = std::max(median_of(ours) - median_of(theirs) - free_ns, 0.0);
    excess.usual_ns = std::max(quantile_of(ours, 1 - kSureShare) - quantile_of(theirs, kSureShare) - free_ns, 0.0);
    std::ranges::fill(excess.ns, excess.mean_ns);
    return excess;
  }
  // Turn by turn beyond what others hardly ever need; and all together beyond what they need on average.
  const double usual_ns = quantile_of(theirs, kUsualShare) + free_ns;
  const auto beyond = [&](double ns) { return std::max(ns - usual_ns, 0.0); };
  const Mean rivals = mean_of(theirs);
  const double needed_ns = rivals.value + kSureErrors * rivals.error + free_ns;
  const double owed_ns = std::max(mean_of(ours).value - needed_ns, 0.0);
  excess.usual_ns = std::max(median_of(ours) - needed_ns, 0.0);
  for (double& ns : ours) ns = beyond(ns);
  const double charged_ns = mean_of(ours).value;
  const double rest_ns = std::max(owed_ns - charged_ns, 0.0);
  for (std::size_t i = 0; i < excess.ns.size(); ++i) excess.ns[i] = beyond(own.excess_ns[i]) + rest_ns;
  excess.mean_ns = charged_ns + rest_ns;
  return excess;
}

}  // namespace kw::judge
