#include "base/paired_ratio.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw {
namespace {

// Both slow down together for a while, as on a shared machine; B takes `b_cost` times as long as A.
std::vector<Pair> pairs_on_a_drifting_machine(double b_cost, int count, std::uint64_t seed = 7) {
  Random random(seed);
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) {
    const double mood = i < count / 2 ? 1.0 : 1.4;
    pairs.push_back({1000 * mood * (1 + 0.05 * random.normal()), 1000 * b_cost * mood * (1 + 0.05 * random.normal())});
  }
  return pairs;
}

TEST(RatioOfPairs, ClaimsNothingForEqualKernels) {
  EXPECT_FALSE(ratio_of_pairs(pairs_on_a_drifting_machine(1.00, 500), 1).differs_by_more_than(0.005));
}

TEST(RatioOfPairs, SeesThreePercentThroughFortyPercentDrift) {
  const Ratio ratio = ratio_of_pairs(pairs_on_a_drifting_machine(1.03, 500), 1);
  EXPECT_TRUE(ratio.differs_by_more_than(0.01));
  EXPECT_NEAR(ratio.median, 1.03, 0.01);
}

TEST(RatioOfPairs, CallsSlowerWhatIsSlower) {
  const Ratio ratio = ratio_of_pairs(pairs_on_a_drifting_machine(0.5, 100), 1);
  EXPECT_LT(ratio.high, 1);
  EXPECT_TRUE(ratio.differs_by_more_than(0.01));
}

TEST(RatioOfPairs, HoldsTheTruthInItsIntervalNineteenTimesInTwenty) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Ratio ratio = ratio_of_pairs(pairs_on_a_drifting_machine(1.1, 100, seed), seed);
    if (ratio.low <= 1.1 && 1.1 <= ratio.high) ++held;
  }
  EXPECT_GT(held, 175);
}

TEST(RatioOfPairs, RepeatsForTheSameSeed) {
  const auto pairs = pairs_on_a_drifting_machine(1.2, 50);
  EXPECT_EQ(ratio_of_pairs(pairs, 3).low, ratio_of_pairs(pairs, 3).low);
}

TEST(MedianOf, IsTheMiddleOne) {
  EXPECT_EQ(median_of({5, 1, 3}), 3);
  EXPECT_EQ(median_of({5, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

}  // namespace
}  // namespace kw
