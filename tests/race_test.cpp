// How a comparison decides, on a device and a clock that are made up (tests/targets/made_up).
#include "judge/race.h"

#include <gtest/gtest.h>

#include "suites/catalog.h"
#include "targets/made_up/device.h"

namespace kw::judge {
namespace {

class ARace : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *made_up::open("made_up");
    task_ = *suites::find_task("Relu");
    for (auto& [name, value] : task_.lengths) value = 8;
  }

  RaceResult raced(const std::string& candidate, const std::vector<std::string>& rivals, RaceRules rules = {}) {
    rules.seed = 11;
    std::vector<std::unique_ptr<const targets::Built>> builds;
    const auto build = [&](const std::string& script) {
      builds.push_back(*device_->build({"script.txt", script}, {}));
      return NamedBuild{"a script", builds.back().get()};
    };
    const NamedBuild first = build(candidate);
    std::vector<NamedBuild> others;
    for (const std::string& rival : rivals) others.push_back(build(rival));
    auto result = race(task_, *device_, first, others, {}, {{.floor = 1e-6}}, rules);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return *result;
  }

  std::unique_ptr<targets::Device> device_;
  Task task_;
};

TEST_F(ARace, SeesWhoIsTwiceAsFastAndStopsAsSoonAsThatIsClear) {
  const RaceResult result = raced("lap_ns 10000", {"lap_ns 20000"});
  ASSERT_FALSE(result.finding);
  EXPECT_NEAR(result.ratios[0].median, 2, 0.02);
  EXPECT_NEAR(result.time_ns, 10'050, 100);
  EXPECT_TRUE(result.ratios[0].differs_by_more_than(result.noise));
  EXPECT_EQ(result.rounds, 30);
}

TEST_F(ARace, ClaimsNothingOfEquals) {
  const RaceResult result = raced("lap_ns 10000", {"lap_ns 10000"});
  ASSERT_FALSE(result.finding);
  EXPECT_FALSE(result.ratios[0].differs_by_more_than(std::max(result.noise, 0.01)));
}

TEST_F(ARace, FindsACandidateThatIsRightAtFirstAndWrongLater) {
  const RaceResult result = raced("lap_ns 10000\nwrong_after 200", {"lap_ns 20000"}, {.stops_early = false});
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->stage, VerdictStage::time);
  EXPECT_EQ(result.finding->reason.code, ReasonCode::wrong_output);
}

TEST_F(ARace, FindsWorkThatIsHiddenOutsideOfTheLaps) {
  const RaceResult result = raced("lap_ns 10000\noutside_ns 900000", {"lap_ns 20000"});
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->reason.code, ReasonCode::hidden_work);
}

TEST_F(ARace, FindsAnEmptyTurnThatTakesTooLong) {
  const RaceResult result = raced("lap_ns 10000\nempty_ns 90000", {"lap_ns 20000"});
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->reason.code, ReasonCode::slow_empty_turn);
}

TEST_F(ARace, TakesARivalOutThatIsWrong) {
  const RaceResult result = raced("lap_ns 10000", {"lap_ns 20000\nwrong", "lap_ns 30000"});
  ASSERT_FALSE(result.finding);
  EXPECT_NE(result.dropped[0].find("its output 0 is wrong"), std::string::npos) << result.dropped[0];
  EXPECT_NEAR(result.ratios[1].median, 3, 0.03);
}

TEST_F(ARace, CountsNoRoundThatWasDisturbed) {
  const RaceResult result = raced("lap_ns 10000\ndisturbed_every 3", {"lap_ns 20000"});
  ASSERT_FALSE(result.finding);
  EXPECT_NEAR(result.time_ns, 10'050, 100);
  EXPECT_NEAR(result.ratios[0].median, 2, 0.02);
}

TEST_F(ARace, RunsExactlyAsManyRoundsAsAskedFor) {
  EXPECT_EQ(raced("lap_ns 10000", {"lap_ns 90000"}, {.budget_s = 600, .most_rounds = 77, .stops_early = false}).rounds,
            77);
}

TEST_F(ARace, ReportsACandidateThatCrashes) {
  const RaceResult result = raced("crashes", {"lap_ns 20000"});
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->reason.code, ReasonCode::aborted);
  EXPECT_EQ(text_of(result.finding->reason), "aborted in its script (in the timed calls)");
}

}  // namespace
}  // namespace kw::judge
