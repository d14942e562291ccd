#include "judge/stopping_rule.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

const auto kClear = [] { return true; };
const auto kUnclear = [] { return false; };

TEST(StoppingRule, EndsEarlyOnlyAfterTheFewestRoundsAndWhenItIsClear) {
  const StoppingRule rule{.budget_s = 100, .fewest_rounds = 30, .most_rounds = 500};
  EXPECT_FALSE(rule.ends(20, 1, kClear));
  EXPECT_TRUE(rule.ends(30, 1, kClear));
  EXPECT_FALSE(rule.ends(31, 1, kClear)) << "it is asked every tenth round";
  EXPECT_FALSE(rule.ends(30, 1, kUnclear));
  EXPECT_FALSE((StoppingRule{.budget_s = 100, .early = false}.ends(30, 1, kClear)));
}

TEST(StoppingRule, EndsWithItsTimeButNeverWithoutEnoughPairs) {
  const StoppingRule rule{.budget_s = 1};
  EXPECT_FALSE(rule.ends(7, 50, kUnclear));
  EXPECT_TRUE(rule.ends(8, 1.1, kUnclear));
}

TEST(StoppingRule, EndsWithItsRounds) {
  EXPECT_TRUE((StoppingRule{.budget_s = 1e9, .most_rounds = 12, .early = false}.ends(12, 0, kUnclear)));
}

TEST(StoppingRule, CallsAnAnswerClearThatIsNarrowAndBeyondTheNoise) {
  EXPECT_TRUE(is_clear({.median = 1.5, .low = 1.49, .high = 1.51}, 0.02));
  EXPECT_FALSE(is_clear({.median = 1.5, .low = 1.3, .high = 1.7}, 0.02)) << "too wide";
  EXPECT_FALSE(is_clear({.median = 1.01, .low = 1.009, .high = 1.011}, 0.02)) << "within the noise";
  EXPECT_TRUE(is_clear_or_equal({.median = 1.0, .low = 0.999, .high = 1.001}, 0.02));
}

}  // namespace
}  // namespace kw::judge
