#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kw {
namespace {

TEST(Random, RepeatsForASeed) {
  Random a(5), b(5), c(6);
  EXPECT_EQ(a.bits(), b.bits());
  EXPECT_NE(a.bits(), c.bits());
}

TEST(Random, FillsWithTheNumbersOfSingleCalls) {
  Random one(5), many(5);
  std::vector<float> values(5000);
  many.fill_normal(values, 3, 0.5);
  for (float value : values) ASSERT_EQ(value, static_cast<float>(3 + 0.5 * one.normal()));
  EXPECT_EQ(one.bits(), many.bits());
}

// The share of normal numbers below some points, against the error function.
TEST(Random, DrawsNormalNumbersFromTheBellCurve) {
  constexpr int kCount = 1'000'000;
  Random random(7);
  std::vector<double> numbers(kCount);
  for (double& number : numbers) number = random.normal();
  std::ranges::sort(numbers);
  for (double point : {-4.0, -3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 3.6, 3.7, 4.2}) {
    const double share = static_cast<double>(std::ranges::lower_bound(numbers, point) - numbers.begin()) / kCount;
    const double expected = 0.5 * std::erfc(-point / std::sqrt(2.0));
    EXPECT_NEAR(share, expected, 5 * std::sqrt(expected * (1 - expected) / kCount)) << point;
  }
}

TEST(Random, ReachesBothEndsOfARangeOfIntegers) {
  Random random(1);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = random.integer(-2, 3);
    ASSERT_TRUE(value >= -2 && value <= 3);
    low = low || value == -2;
    high = high || value == 3;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace kw
