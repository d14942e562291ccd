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
  verdict.tier = "full";
  return verdict;
}

TEST(VerdictJson, ComesBackAsItWas) {
  const Verdict before = example();
  const auto after = verdict_from_json(verdict_as_json(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(verdict_as_json(*after), verdict_as_json(before));
  EXPECT_EQ(after->stage, VerdictStage::build);
  EXPECT_EQ(after->speedups.at(0).rival, "plain");
  EXPECT_FALSE(after->roof_fraction.has_value());
}

TEST(VerdictJson, HasTheKeysThatAreDocumented) {
  const std::string json = verdict_as_json(example());
  for (const char* key : {"task",    "target", "accepted",  "stage",         "reason", "errors",  "file",   "line",
                          "message", "around", "max_error", "time_ns",       "caches", "speedup", "median", "low",
                          "high",    "pairs",  "claimed",   "roof_fraction", "noise",  "tier",    "varies", "kept"}) {
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

}  // namespace
}  // namespace kw::judge
