#include "judge/stopping_rule.h"

namespace kw::judge {
namespace {

constexpr double kNarrow = 0.05;
constexpr double kEqual = 0.005;
// Rounds between two looks at the answer, which takes a thousand resamples.
constexpr int kEvery = 10;

double width_of(const Ratio& ratio) { return (ratio.high - ratio.low) / ratio.median; }

}  // namespace

bool StoppingRule::ends(int rounds, double spent_s, const std::function<bool()>& clear) const {
  if (rounds >= most_rounds) return true;
  if (rounds >= static_cast<int>(kFewestPairs) && spent_s > budget_s) return true;
  return early && rounds >= fewest_rounds && rounds % kEvery == 0 && clear();
}

bool is_clear(const Ratio& ratio, double noise) {
  return ratio.differs_by_more_than(noise) && width_of(ratio) < kNarrow;
}

bool is_clear_or_equal(const Ratio& ratio, double noise) { return is_clear(ratio, noise) || width_of(ratio) < kEqual; }

}  // namespace kw::judge
