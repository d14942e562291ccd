#include "judge/verdict_json.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

Verdict example() {
  Verdict verdict;
  verdict.task = "Relu";
  verdict.target = "cpu";
  verdict.stage = VerdictStage::build;
  verdict.reason = {ReasonCode::does_not_compile, {{"place", ""}, {"message", "x"}}, true};
  verdict.errors = {{"a.cpp", 3, "expected ;", "> 3 | x\n"}};
  verdict.max_error = 0.5;
  verdict.time_ns = 1200;
  verdict.caches = "warm";
  verdict.speedups = {{"plain", 1.5, 1.4, 1.6, 100, true}};
  verdict.noise = 0.01;
  verdict.conditions = Conditions{
      .slowest = 1.02, .mhz_least = 1800, .mhz_most = 2400, .pauses = 1, .paused_s = 3.5, .slowed_by = {"heat"}};
  verdict.isolation = "full";
  verdict.coverage = {.shapes = 100,
                      .cases = 120,
                      .lengths = {{"N", {0, 512, 70}}},
                      .input_classes = {{"typical", 40}, {"wide", 16}},
                      .own_classes = {"typical", "wide"},
                      .threads = {1, 2},
                      .placements = {"aligned"},
                      .instances = 2,
                      .calls_in_a_row = 6400,
                      .neighbours = true,
                      .timed_calls_verified = 17};
  return verdict;
}

TEST(VerdictJson, ComesBackAsItWas) {
  const Verdict before = example();
  const auto after = verdict_from_json(verdict_as_json(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(verdict_as_json(*after), verdict_as_json(before));
  EXPECT_EQ(after->stage, VerdictStage::build);
  EXPECT_EQ(after->speedups.at(0).rival, "plain");
  EXPECT_EQ(text_of(after->coverage), text_of(before.coverage));
  EXPECT_EQ(text_of(after->coverage).front(), "right on 100 shapes: N in [0, 512]");
  EXPECT_FALSE(after->roof_fraction.has_value());
}

TEST(VerdictJson, KeepsWhatAGpuAndItsRivalsAreTimedBy) {
  Verdict before = example();
  before.stage = VerdictStage::accepted;
  before.caches = "cold";
  before.warm_time_ns = 800;
  before.speedups.push_back({.rival = "torch",
                             .median = 2,
                             .low = 1.9,
                             .high = 2.1,
                             .pairs = 30,
                             .called = Called{"2.11.0", 9, 8, 10, 50'000, 48'000, true},
                             .warm = Ratio{.median = 3, .low = 2.9, .high = 3.1}});
  const auto after = verdict_from_json(verdict_as_json(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(verdict_as_json(*after), verdict_as_json(before));
  EXPECT_EQ(after->warm_time_ns, 800);
  const Speedup& torch = after->speedups.back();
  EXPECT_FALSE(torch.called->overhead_decides()) << "what calling costs was not computed, but left out";
  EXPECT_DOUBLE_EQ(torch.warm->high, 3.1);
}

TEST(VerdictJson, HasTheKeysThatAreDocumented) {
  const std::string json = verdict_as_json(example());
  for (const char* key :
       {"task",    "target",        "accepted", "stage",     "reason",  "errors", "file",    "line", "message",
        "around",  "max_error",     "time_ns",  "caches",    "speedup", "median", "low",     "high", "pairs",
        "claimed", "roof_fraction", "noise",    "isolation", "varies",  "kept",   "coverage"}) {
    EXPECT_NE(json.find("\"" + std::string(key) + "\":"), std::string::npos) << key;
  }
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(VerdictJson, RefusesWhatIsNone) {
  for (const char* text : {"", "{}", "[1]", "{\"task\": 3}", "nonsense"})
    EXPECT_FALSE(verdict_from_json(text).ok()) << text;
}

TEST(VerdictJson, SurvivesBytesThatAreNoText) {
  Verdict verdict = example();
  verdict.reason = {ReasonCode::other, {{"text", "\xff\xfe broken"}}};
  EXPECT_TRUE(verdict_from_json(verdict_as_json(verdict)).ok());
}

TEST(VerdictJson, OfARecordWithoutCoverageSaysThatNothingIsKnownOfIt) {
  Verdict old = example();
  old.coverage = {};
  const auto after = verdict_from_json(verdict_as_json(old));
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(after->coverage.empty());
  EXPECT_EQ(text_of(after->coverage), std::vector<std::string>{"what was tried is not recorded"});
}

}  // namespace
}  // namespace kw::judge
