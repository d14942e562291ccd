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
  EXPECT_EQ(excess_of(honest, {&honest}, 50'000).ns, 0);
  const Excess found = excess_of(works, {&honest}, 100);
  EXPECT_NEAR(found.ns, 70'000, 1'000);
  EXPECT_GT(found.ns, found.tolerated_ns);
}

TEST(Excess, IsFoundOnABusyMachineByTheTurnsThatWereClean) {
  const Turns honest = turns_of(5'000, 10, 200), works = turns_of(75'000, 10, 200);
  const Excess found = excess_of(works, {&honest, &honest}, 100);
  EXPECT_GT(found.ns, found.tolerated_ns);
  const Excess none = excess_of(honest, {&honest, &honest}, 100);
  EXPECT_LE(none.ns, none.tolerated_ns);
}

TEST(Excess, BlamesNobodyForAMachineThatIsNeverQuiet) {
  const Turns unlucky = turns_of(400'000, 0, 50), lucky = turns_of(5'000, 0, 50);
  const Excess found = excess_of(unlucky, {&lucky}, 1'000);
  EXPECT_LE(found.ns, found.tolerated_ns);
  EXPECT_EQ(excess_of({}, {&lucky}, 1'000).ns, 0);
}

}  // namespace
}  // namespace kw::judge
