#include "mcp/told.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kw::mcp {
namespace {

std::string hint(VerdictStage stage, const Reason& reason) {
  Verdict verdict;
  verdict.stage = stage;
  verdict.reason = reason;
  const std::string text = told_as_text(verdict);
  EXPECT_NE(text.find(told(verdict)["hint"].get<std::string>()), std::string::npos);
  return told(verdict)["hint"];
}

TEST(Told, KeepsExpectedValuesToItself) {
  const Reason wrong{
      ReasonCode::wrong_output,
      {{"output", 0},
       {"name", "y"},
       {"wrong", 2},
       {"count", 64},
       {"examples", Json::array({{{"at", "[0, 2]"}, {"got", "1.5"}, {"expected", "1.25"}, {"allowed", "1e-06"}}})},
       {"case", {{"values", "typical"}, {"lengths", {{"D", 8}, {"N", 8}}}}}}};
  EXPECT_EQ(hint(VerdictStage::verify, wrong),
            "output 0 (y): 2 of 64 elements are wrong; [0, 2]: got 1.5 (typical values, D=8 N=8)");
}

TEST(Told, TellsNoShapeAndNoNumberOfAHiddenCase) {
  const Reason wrong{
      ReasonCode::wrong_output,
      {{"output", 0}, {"wrong", 3}, {"count", 37}, {"case", {{"values", "special"}, {"lengths", {{"D", 37}}}}}},
      true};
  EXPECT_EQ(hint(VerdictStage::hidden, wrong), "on a hidden shape: elements are wrong; special values");
}

// The error of a rejected kernel was told as it is: on a hidden shape a kernel can make it say what it was called with.
TEST(Told, TellsNoErrorOfARejectedKernelAndOnlyAStepOfAnAcceptedOne) {
  Verdict verdict{.task = "Relu", .stage = VerdictStage::hidden, .max_error = 37};
  verdict.reason = {ReasonCode::wrong_output, {}, true};
  EXPECT_TRUE(told(verdict)["max_error"].is_null());
  EXPECT_EQ(told_as_text(verdict).find("37"), std::string::npos);
  verdict = {.task = "Relu", .stage = VerdictStage::accepted, .max_error = 0.37};
  EXPECT_EQ(told(verdict)["max_error"], 0.5);
  EXPECT_EQ(told_as_text(verdict), "accepted; largest error at most 0.5 of what is allowed\n");
  verdict.max_error = 0;
  EXPECT_EQ(told_as_text(verdict), "accepted; no error\n");
}

TEST(Told, TellsAllOfACompilersWords) {
  EXPECT_EQ(hint(VerdictStage::build,
                 {ReasonCode::does_not_compile, {{"place", "kernel.cpp:3: "}, {"message", "expected ;"}}}),
            "does not compile: kernel.cpp:3: expected ;");
}

}  // namespace
}  // namespace kw::mcp
