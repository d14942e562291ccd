// A search from candidates to the winner, on a device and a clock that are made up (tests/targets/made_up).
#include <gtest/gtest.h>

#include "search/engine.h"
#include "suites/catalog.h"

namespace kw::search {
namespace {

TEST(ASearch, FindsTheFastestAndAsksAllAlike) {
  auto judge = judge::Judge::open("made_up");
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  Task task = *suites::find_task("Relu");
  for (auto& [name, value] : task.lengths) value = 8;
  const auto space = Space::of({{"slow", "slow.txt", "lap_ns 20000", {}},
                                {"wrong", "wrong.txt", "lap_ns 1000\nwrong", {}},
                                {"fast", "fast.txt", "lap_ns 10000", {}}},
                               targets::build_options("made_up"));
  ASSERT_TRUE(space.ok()) << space.error().message;
  const auto strategy = find_strategy("random")->make({.space = &*space});
  SearchJob plan{.task = &task,
                 .space = &*space,
                 .strategy = strategy.get(),
                 .budget = {.candidates = 100},
                 .threads = 2,
                 .cold = true};
  int tried = 0;
  plan.tried = [&](const Trial& trial) -> Status {
    ++tried;
    EXPECT_EQ(trial.asked.threads, 2);
    EXPECT_TRUE(trial.asked.cold);
    return {};
  };
  const auto found = search(*judge, plan);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_GE(tried, 3);
  EXPECT_GT(found->rejected, 0);
  ASSERT_FALSE(found->ranking.empty());
  EXPECT_EQ(space->kernels()[found->ranking[0].point.kernel].technique, "fast");

  judge::Case rules;
  rules.threads = 2;
  rules.cold = true;
  rules.plain = false;
  const auto winner = decide(*judge, task, *space, *found, rules,
                             [&](const Point&, const judge::Case& asked, const Verdict&, double) -> Status {
                               EXPECT_EQ(asked.threads, 2);
                               EXPECT_TRUE(asked.cold);
                               return {};
                             });
  ASSERT_TRUE(winner.ok()) << winner.error().message;
  EXPECT_TRUE(winner->verdict.accepted()) << text_of(winner->verdict.reason);
  EXPECT_EQ(space->kernels()[winner->point.kernel].technique, "fast");
  EXPECT_EQ(winner->verdict.target, "made_up");
}

}  // namespace
}  // namespace kw::search
