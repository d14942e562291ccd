#include "judge/hidden_work.h"

#include <algorithm>
#include <cmath>

#include "base/paired_ratio.h"

namespace kw::judge {
namespace {

// CPU time outside of the lap, beyond what a rival needs there, that is not charged: a share of the lap (a kernel that
// uses much memory pushes the host's own data out of the caches, which then takes longer), and a fixed time.
constexpr double kFreeShare = 0.01;
constexpr double kFreeNs = 300;
// A mean charge above this is not explained by chance. Where the thread that reads the clock was interrupted in nearly
// every turn, the limit is the time of a lap plus this.
constexpr double kMostShare = 0.1;
constexpr double kMostNs = 2'000;
constexpr double kMostNsWhenBusy = 1'000'000;
// Two means differ when they are this many standard errors of the others' turns apart.
constexpr double kSureErrors = 6;
// A value that this share of the others' turns stays below may be chance.
constexpr double kUsualShare = 0.9;
// Where waiting cannot be told from work, only turns above this share of the others' turns count.
constexpr double kSureShare = 0.75;
// The share of the largest values that a mean leaves out.
constexpr double kLeftOut = 0.2;

// The mean without the largest values.
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
    // While the judge's thread is interrupted, the kernel's process waits, and this looks like work of milliseconds. So
    // only medians are charged here, and a kernel is rejected only if three in four of its turns exceed three in four
    // of the others'.
    excess.mean_ns = std::max(median_of(ours) - median_of(theirs) - free_ns, 0.0);
    excess.usual_ns = std::max(quantile_of(ours, 1 - kSureShare) - quantile_of(theirs, kSureShare) - free_ns, 0.0);
    std::ranges::fill(excess.ns, excess.mean_ns);
    return excess;
  }
  // Charged: in each turn what exceeds nearly all of the others' turns, and in all turns what exceeds their mean.
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
