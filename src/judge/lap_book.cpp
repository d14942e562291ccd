#include "judge/lap_book.h"

#include <algorithm>

namespace kw::judge {
namespace {

// The noise is never taken to be smaller than this.
constexpr double kLeastNoise = 0.002;

std::vector<Pair> paired(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<Pair> all;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) all.push_back({a[i], b[i]});
  return all;
}

}  // namespace

bool LapBook::busy() const { return std::ranges::count(clean_, true) < static_cast<std::ptrdiff_t>(kFewestPairs); }

std::vector<double> LapBook::counted(const std::vector<double>& of_rounds) const {
  if (busy()) return of_rounds;
  std::vector<double> kept;
  for (std::size_t i = 0; i < std::min(of_rounds.size(), clean_.size()); ++i) {
    if (clean_[i]) kept.push_back(of_rounds[i]);
  }
  return kept;
}

std::vector<double> LapBook::times_of(std::size_t who, const Charges& charged_ns) const {
  std::vector<double> laps = laps_ns_[who];
  for (std::size_t i = 0; i < std::min(laps.size(), charged_ns.size()) && who == 0; ++i) laps[i] += charged_ns[i];
  return counted(laps);
}

std::vector<Pair> LapBook::pairs(std::size_t a, std::size_t b, const Charges& charged_ns) const {
  return paired(times_of(a, charged_ns), times_of(b, charged_ns));
}

std::vector<Pair> LapBook::pairs_with(const std::vector<double>& theirs_ns, const Charges& charged_ns) const {
  return paired(times_of(0, charged_ns), counted(theirs_ns));
}

std::optional<Ratio> LapBook::ratio(std::size_t a, std::size_t b, const Charges& charged_ns) const {
  const std::vector<Pair> all = pairs(a, b, charged_ns);
  if (all.size() < kFewestPairs) return std::nullopt;
  return ratio_of_pairs(all, seed_);
}

double LapBook::noise() const {
  const std::size_t copy = laps_ns_.size() - 1;
  const std::optional<Ratio> same = ratio(copy > 1 ? 1 : 0, copy);
  if (!same) return 1;
  return std::max({same->high - 1, 1 / same->low - 1, kLeastNoise});
}

}  // namespace kw::judge
