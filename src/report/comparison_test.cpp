#include "report/comparison.h"

#include <gtest/gtest.h>

namespace kw::report {
namespace {

Outcome timed(double median, double width, double noise = 0.01) {
  return {
      .task = "Relu",
      .task_hash = "a",
      .stage = VerdictStage::accepted,
      .terms = "warm caches, 1 thread",
      .machine = 1,
      .time_ns = 100,
      .noise = noise,
      .against = {{.rival = "mnn", .version = "3", .median = median, .low = median - width, .high = median + width}}};
}

RunFigures run_of(Outcome outcome, const std::string& machine = "this") {
  RunFigures figures;
  figures.outcomes = {std::move(outcome)};
  figures.machines[1] = {.identity = machine, .name = "A Processor"};
  return figures;
}

Change change(Outcome before, Outcome after) {
  return changes_between(run_of(std::move(before)), run_of(std::move(after))).at(0);
}

TEST(Comparison, CallsAChangeOnlyWhatLiesOutsideIntervalsAndNoise) {
  EXPECT_EQ(change(timed(1.0, 0.01), timed(1.2, 0.01)).kind, ChangeKind::better);
  EXPECT_EQ(change(timed(1.2, 0.01), timed(1.0, 0.01)).kind, ChangeKind::worse);
  // Twice as wide, and the intervals touch.
  EXPECT_EQ(change(timed(1.0, 0.1), timed(1.2, 0.1)).kind, ChangeKind::same);
  // They lie apart, by less than both noises together.
  EXPECT_EQ(change(timed(1.0, 0.01, 0.10), timed(1.2, 0.01, 0.10)).kind, ChangeKind::same);
  EXPECT_EQ(change(timed(1.0, 0.01, 0.10), timed(1.2, 0.01, 0.01)).kind, ChangeKind::better);
}

TEST(Comparison, GivesTheRatioWithTheWidestInterval) {
  const Change one = change(timed(2, 0.1), timed(3, 0.2));
  ASSERT_TRUE(one.ratio);
  EXPECT_DOUBLE_EQ(one.ratio->median, 1.5);
  EXPECT_DOUBLE_EQ(one.ratio->low, 2.8 / 2.1);
  EXPECT_DOUBLE_EQ(one.ratio->high, 3.2 / 1.9);
  EXPECT_EQ(one.rival, "mnn");
}

TEST(Comparison, TellsWhatBecameRightAndWhatIsNoLonger) {
  const Outcome failed{.task = "Relu", .task_hash = "a", .stage = VerdictStage::verify};
  EXPECT_EQ(change(failed, timed(1, 0.1)).kind, ChangeKind::gained);
  EXPECT_EQ(change(timed(1, 0.1), failed).kind, ChangeKind::lost);
  EXPECT_EQ(change(failed, failed).kind, ChangeKind::neither);
}

TEST(Comparison, SaysWhyItDoesNotCompare) {
  const auto why = [](const RunFigures& before, const RunFigures& after) {
    const Change one = changes_between(before, after).at(0);
    EXPECT_EQ(one.kind, ChangeKind::apart);
    EXPECT_FALSE(one.ratio);
    return one.why;
  };
  Outcome other = timed(5, 0.1);
  other.task_hash = "b";
  EXPECT_EQ(why(run_of(timed(1, 0.1)), run_of(other)), "the task itself was changed between the runs");
  EXPECT_EQ(why(run_of(timed(1, 0.1)), run_of(timed(5, 0.1), "that")), "measured on different machines");
  other = timed(5, 0.1);
  other.terms = "cold caches, 1 thread";
  EXPECT_NE(why(run_of(timed(1, 0.1)), run_of(other)).find("different terms"), std::string::npos);
  other = timed(5, 0.1);
  other.against[0].version = "4";
  EXPECT_EQ(why(run_of(timed(1, 0.1)), run_of(other)), "they met no rival in the same version");
}

TEST(Comparison, SkipsARivalThatChangedWhereAnotherDidNot) {
  Outcome before = timed(1, 0.01), after = timed(5, 0.01);
  after.against[0].version = "4";
  for (Outcome* one : {&before, &after})
    one->against.push_back({.rival = "plain", .version = "1", .median = 2, .low = 1.9, .high = 2.1});
  const Change one = change(before, after);
  EXPECT_EQ(one.kind, ChangeKind::same);
  EXPECT_EQ(one.rival, "plain");
}

TEST(Comparison, LeavesOutTasksThatOnlyOneRunHas) {
  Outcome other = timed(1, 0.1);
  other.task = "Tanh";
  EXPECT_TRUE(changes_between(run_of(timed(1, 0.1)), run_of(other)).empty());
}

}  // namespace
}  // namespace kw::report
