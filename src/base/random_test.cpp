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

// The share of numbers below some points, against the error function.
void expect_bell_curve(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const auto count = static_cast<double>(numbers.size());
  for (double point : {-4.0, -3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 3.6, 3.7, 4.2}) {
    const double share = static_cast<double>(std::ranges::lower_bound(numbers, point) - numbers.begin()) / count;
    const double expected = 0.5 * std::erfc(-point / std::sqrt(2.0));
    EXPECT_NEAR(share, expected, 5 * std::sqrt(expected * (1 - expected) / count)) << point;
  }
}

TEST(Random, DrawsNormalNumbersFromTheBellCurve) {
  Random random(7);
  std::vector<double> numbers(1'000'000);
  for (double& number : numbers) number = random.normal();
  expect_bell_curve(numbers);
}

TEST(Random, FillsFromTheBellCurveWithoutZeros) {
  Random random(5), same(5);
  std::vector<float> values(1'000'001), again(1'000'001);
  random.fill_normal(values, 3, 0.5);
  same.fill_normal(again, 3, 0.5);
  EXPECT_EQ(values, again);
  std::vector<double> numbers;
  for (float value : values) numbers.push_back((value - 3) / 0.5);
  expect_bell_curve(numbers);
  random.fill_normal(values, 0, 1);
  EXPECT_EQ(std::ranges::find(values, 0.0f), values.end());
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
