#include "judge/hidden_work.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

Turns turns_of(double ns, int clean, int interrupted) {
  Turns turns;
  for (int i = 0; i < clean; ++i) turns.add(ns + i % 3 * 10, true);
  // Who waits for an interrupted judge uses a millisecond of CPU time.
  for (int i = 0; i < interrupted; ++i) turns.add(ns + 1e6 + i % 7 * 1e4, false);
  return turns;
}

TEST(Excess, ChargesWhatOthersDoNotNeed) {
  const Turns honest = turns_of(5'000, 40, 0), works = turns_of(75'000, 40, 0);
  EXPECT_EQ(excess_of(honest, {&honest}, 50'000).mean_ns, 0);
  const Excess found = excess_of(works, {&honest}, 100);
  EXPECT_NEAR(found.mean_ns, 70'000, 1'000);
  EXPECT_TRUE(found.is_no_chance());
}

TEST(Excess, IsFoundOnABusyMachineByTheTurnsThatWereClean) {
  const Turns honest = turns_of(5'000, 10, 200), works = turns_of(75'000, 10, 200);
  const Excess found = excess_of(works, {&honest, &honest}, 100);
  EXPECT_TRUE(found.is_no_chance());
  const Excess none = excess_of(honest, {&honest, &honest}, 100);
  EXPECT_FALSE(none.is_no_chance());
}

TEST(Excess, BlamesNobodyForAMachineThatIsNeverQuiet) {
  const Turns unlucky = turns_of(400'000, 0, 50), lucky = turns_of(5'000, 0, 50);
  const Excess found = excess_of(unlucky, {&lucky}, 1'000);
  EXPECT_FALSE(found.is_no_chance());
  EXPECT_EQ(excess_of({}, {&lucky}, 1'000).mean_ns, 0);
}

TEST(Excess, OfAnHonestKernelIsSmallWhereTheJudgeIsInterruptedAllTheTime) {
  Turns unlucky, lucky = turns_of(5'000, 2, 50);
  for (int i = 0; i < 50; ++i) unlucky.add(i % 3 == 0 ? 9e6 : 1e6, false);
  const Excess found = excess_of(unlucky, {&lucky}, 100'000);
  EXPECT_FALSE(found.is_no_chance());
}

// A host that takes the judge's core away is no interruption that the judge could see: its turn looks like work.
TEST(Excess, BlamesNobodyForAFewTurns) {
  const Turns lucky = turns_of(5'000, 20, 0);
  Turns unlucky = turns_of(5'000, 5, 0);
  for (int i = 0; i < 3; ++i) unlucky.add(2e6, true);
  const Excess found = excess_of(unlucky, {&lucky}, 150'000);
  EXPECT_FALSE(found.is_no_chance());
  EXPECT_GT(found.ns[6], 1.9e6) << "those turns are charged";
  EXPECT_LT(found.ns[0], 1e5);
}

TEST(Excess, BlamesNobodyForTheMedianOfAFewInterruptedTurns) {
  Turns lucky, unlucky;
  for (int i = 0; i < 16; ++i) lucky.add(i % 5 < 3 ? 1e5 : 6e6, false);
  for (int i = 0; i < 8; ++i) unlucky.add(i % 5 < 2 ? 1e5 : 6e6, false);
  EXPECT_FALSE(excess_of(unlucky, {&lucky}, 150'000).is_no_chance());
  Turns works;
  for (int i = 0; i < 8; ++i) works.add(2e7 + (i % 2) * 6e6, false);
  EXPECT_TRUE(excess_of(works, {&lucky}, 150'000).is_no_chance());
}

TEST(Excess, IsNotExcusedByItsOwnSpread) {
  const Turns honest = turns_of(5'000, 60, 0);
  Turns varies;
  // Two turns of five hide nothing, the others 30 or 90 us.
  for (int i = 0; i < 60; ++i) varies.add(5'000 + (i % 5 < 2 ? 0 : i % 2 == 0 ? 30'000 : 90'000), true);
  const Excess found = excess_of(varies, {&honest}, 100'000);
  EXPECT_GT(found.mean_ns, 18'000);
  EXPECT_TRUE(found.is_no_chance());
  EXPECT_LT(found.ns[0], 1'000) << "a turn that hides nothing is charged with little";
  EXPECT_GT(found.ns[2], 25'000);
}

TEST(Excess, IsChargedOnAverageWhereItHidesBelowTheOthersSpread) {
  Turns others, works;
  for (int i = 0; i < 200; ++i) {
    others.add(5'000 + i % 10 * 4'000, true);
    works.add(5'000 + 15'000, true);
  }
  const Turns quiet = turns_of(5'000, 200, 0);
  EXPECT_LT(excess_of(others, {&others}, 10'000).mean_ns, 300) << "chance is hardly charged";
  EXPECT_GT(excess_of(works, {&quiet}, 10'000).mean_ns, 14'000);
}

}  // namespace
}  // namespace kw::judge
