#include "runs/over.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runs/over_run.h"

namespace kw::runs {
namespace {

std::vector<OverRange> range(const std::string& text) {
  const auto over = parse_over({text});
  EXPECT_TRUE(over.ok()) << over.error().message;
  return over.ok() ? *over : std::vector<OverRange>();
}

TimedSize timed(std::int64_t length, bool seen, double speed) {
  TimedSize one{.size = {.lengths = {{"N", length}}, .seen = seen}, .verdict = {}};
  one.verdict.stage = VerdictStage::accepted;
  one.verdict.time_ns = 1000;
  one.verdict.speedups.push_back({.rival = "plain", .median = speed});
  return one;
}

TEST(Over, ReadsRangesAndSaysWhatIsWrongWithOthers) {
  const auto over = parse_over({"N=1..64", "batch=2..2"});
  ASSERT_TRUE(over.ok());
  EXPECT_EQ((*over)[0].name, "N");
  EXPECT_EQ((*over)[0].high, 64);
  EXPECT_EQ((*over)[1].low, 2);
  for (const char* bad : {"N", "N=", "=1..2", "N=1", "N=1..", "N=..2", "N=1...3", "N=a..b", "N=-1..3", "N=5..4"}) {
    const auto none = parse_over({bad});
    ASSERT_FALSE(none.ok()) << bad;
    EXPECT_NE(none.error().message.find("--over"), std::string::npos) << none.error().message;
  }
  EXPECT_FALSE(parse_over({"N=1..2", "N=3..4"}).ok());
}

TEST(Over, NamesTheLengthsThatATaskLeavesOpen) {
  Task task{.name = "Relu"};
  task.lengths = {{"M", 3}, {"N", 4}};
  EXPECT_TRUE(check_over(range("N=1..2"), task).ok());
  const Status unknown = check_over(range("K=1..2"), task);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("M, N"), std::string::npos) << unknown.error().message;
}

TEST(Over, SeesTheEndsAndTheMiddleAndTimesOthersBetween) {
  const std::vector<OverSize> sizes = sizes_over(range("N=1..64"), 1);
  std::vector<std::int64_t> seen, unseen;
  for (const OverSize& size : sizes) (size.seen ? seen : unseen).push_back(size.lengths.at("N"));
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 10, 64}));
  EXPECT_EQ(unseen.size(), 6u);
  EXPECT_TRUE(std::ranges::is_sorted(unseen));
  for (const std::int64_t one : unseen) EXPECT_TRUE(one > 1 && one < 64 && one != 10) << one;
}

TEST(Over, TakesASmallRangeWhole) {
  const std::vector<OverSize> sizes = sizes_over(range("N=3..5"), 1);
  ASSERT_EQ(sizes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sizes[i].lengths.at("N"), static_cast<std::int64_t>(3 + i));
  EXPECT_EQ(sizes_over(range("N=7..7"), 1).size(), 1u);
  EXPECT_EQ(sizes_over(range("N=2..6"), 1).size(), 5u);  // also where a part of it has nothing but seen sizes
}

TEST(Over, ReportsTheMedianAndTheWorstOfUnseenSizesOnly) {
  const std::vector<TimedSize> sizes = {timed(1, true, 0.1), timed(3, false, 2), timed(9, false, 0.5),
                                        timed(20, false, 4), timed(64, true, 9)};
  const std::vector<OverFigure> figures = figures_over(sizes);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].sizes, 3);
  EXPECT_EQ(figures[0].median, 2);
  EXPECT_EQ(figures[0].worst, 0.5);
  EXPECT_EQ(figures[0].worst_at.at("N"), 9);
  EXPECT_NE(over_as_text(sizes).find("2.00 times as fast in the median, 0.50 at worst (N=9)"), std::string::npos)
      << over_as_text(sizes);
  const Json json = over_as_json(range("N=1..64"), sizes);
  EXPECT_EQ(json["unseen"]["plain"]["worst"], 0.5);
  EXPECT_EQ(json["sizes"].size(), 5u);
}

TEST(Over, ChoosesTheKernelThatIsBestInTheMeanAndNamesWhereItLoses) {
  const std::vector<OverSize> sizes = {{{{"N", 1}}, true}, {{{"N", 8}}, true}, {{{"N", 64}}, true}};
  const OverChoice choice = choose_over({{8, 2, 1}, {4, 4, 4}, {100, 100, 0}}, sizes);
  EXPECT_EQ(choice.chosen, 1u);  // the third is wrong at one of them
  ASSERT_EQ(choice.losses.size(), 2u);
  EXPECT_EQ(choice.losses[0].lengths.at("N"), 1);
  EXPECT_EQ(choice.losses[0].faster, 2u);
  EXPECT_EQ(choose_over({{4, 4, 4}, {4.1, 4, 4}}, sizes).losses.size(), 0u);  // as good as the same
}

}  // namespace
}  // namespace kw::runs
