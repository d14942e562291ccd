#include "report/tally.h"

#include <gtest/gtest.h>

namespace kw::report {
namespace {

Verdict accepted(double plain, double mnn) {
  return {.stage = VerdictStage::accepted,
          .speedups = {{.rival = "plain", .median = plain}, {.rival = "mnn", .median = mnn}}};
}

// 30 of 100 were done before; 20 more within 10 seconds.
Tally halfway() {
  Tally tally{.plan = {.title = "r3", .total = 100, .done = 30}, .elapsed_s = 10, .done = 50};
  tally.count("Relu", accepted(9, 2));
  tally.count("Conv", accepted(9, 0.5));
  tally.count("Conv", {.stage = VerdictStage::verify});
  tally.count("Conv", {.stage = VerdictStage::build});
  tally.count("Conv", {.stage = VerdictStage::build});
  tally.running = {{"Gemm gemm.cpp: timing", 3.2}, {"Tanh tanh.cpp: building", 0.1}};
  return tally;
}

TEST(Tally, KnowsRateAndTimeLeftOfWhatIsDoneNow) {
  EXPECT_DOUBLE_EQ(*halfway().rate(), 2);
  EXPECT_DOUBLE_EQ(*halfway().left_s(), 25);
  Tally search{.plan = {.budget_s = 60}, .elapsed_s = 20};
  EXPECT_DOUBLE_EQ(*search.left_s(), 40);
  EXPECT_EQ(search.rate(), std::nullopt);
}

TEST(Tally, TheBestIsAgainstTheHardestRival) {
  Tally tally;
  EXPECT_TRUE(tally.count("Relu", accepted(9, 2)));
  EXPECT_FALSE(tally.count("Relu", accepted(90, 1.9)));
  EXPECT_TRUE(tally.count("Relu", accepted(2.1, 5)));
  EXPECT_EQ(tally.best.at("Relu").rival, "plain");
}

// A search looks at many and judges the winner: what it measured on the way is no measure of the winner.
TEST(Tally, AQuickCheckIsNeitherAnErrorNorAResult) {
  Tally tally{.plan = {.title = "r1", .unit = "tasks", .total = 1}, .elapsed_s = 1, .done = 1};
  EXPECT_FALSE(tally.count("Relu", {.stage = VerdictStage::quick_check}));
  EXPECT_TRUE(tally.count_passing("Relu", 7, "the first"));
  EXPECT_FALSE(tally.count_passing("Relu", 6, "the first"));
  EXPECT_TRUE(tally.count("Relu", accepted(9, 2)));
  EXPECT_TRUE(tally.errors.empty());
  EXPECT_EQ(summary(tally, "done"),
            "r1 done: 1 of 1 tasks in 0:01; 1 of 1 accepted, 1 passed the quick check; best Relu 2.00 x mnn");
}

// A search of one task knows its time and not how many it will try: its bar is the time's.
TEST(Tally, ShowsHowFarASearchOfOneTaskIs) {
  Tally tally{.plan = {.title = "r1", .unit = "candidates", .budget_s = 20}, .elapsed_s = 5, .done = 3};
  for (int i = 0; i < 3; ++i) tally.count("Relu", {.stage = VerdictStage::quick_check});
  EXPECT_EQ(live_block(tally, 80, 24),
            (std::vector<std::string>{"r1  [#########-----------------------------]  3 candidates  36.0/min  0:15 left",
                                      "  tried   3 candidates, 3 passed the quick check"}));
  tally.elapsed_s = 21;
  EXPECT_EQ(live_block(tally, 80, 24)[0].find("left"), std::string::npos);
}

TEST(Tally, ShowsALiveBlock) {
  EXPECT_EQ(
      live_block(halfway(), 80, 24),
      (std::vector<std::string>{"r3  [##################------------------]  50/100 candidates  2.0/s  0:25 left",
                                "  best    Conv 0.50 x mnn; 1.00 x in the mean of 2 tasks",
                                "  now     Gemm gemm.cpp: timing, 3 s; and 1 more", "  errors  build 2, verify 1"}));
}

TEST(Tally, FitsEveryWidthAndHeight) {
  Tally tally = halfway();
  tally.running[0].what =
      "Gr\xc3\xbc\xc3\x9f"
      "e\033[2J \xe2\x82\xac\n.cpp";
  for (int width = 1; width < 120; ++width) {
    for (const std::string& line : live_block(tally, width, 24)) {
      int letters = 0;
      for (const char c : line) {
        letters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 32) << line;
      }
      EXPECT_LT(letters, std::max(width, 2)) << line;
    }
  }
  EXPECT_EQ(live_block(tally, 80, 2).size(), 2u);
  EXPECT_EQ(live_block(tally, 0, 0).size(), 1u);
}

TEST(Tally, TellsItInALine) {
  EXPECT_EQ(
      plain_line(halfway()),
      "50 of 100 candidates, 2.0/s, 0:25 left; 2 accepted, build 2, verify 1; best 1.00 x in the mean of 2 tasks");
  EXPECT_EQ(
      summary(halfway(), "stopped"),
      "r3 stopped: 50 of 100 candidates in 0:10 (30 of them before); 2 of 5 accepted, build 2, verify 1; best 1.00 x "
      "in the mean of 2 tasks");
}

TEST(Tally, SaysNothingOfVerdictsWhereThereWasNothingToDo) {
  const Tally tally{.plan = {.title = "r1", .unit = "tasks", .total = 2, .done = 2}, .done = 2};
  EXPECT_EQ(summary(tally, "done"), "r1 done: 2 of 2 tasks in 0:00 (2 of them before)");
}

TEST(Tally, SaysHowLong) {
  EXPECT_EQ(duration_text(7.4), "0:07");
  EXPECT_EQ(duration_text(754), "12:34");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

}  // namespace
}  // namespace kw::report
