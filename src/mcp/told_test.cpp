#include "mcp/told.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kw::mcp {
namespace {

std::string hint(VerdictStage stage, const std::string& reason) {
  Verdict verdict;
  verdict.stage = stage;
  verdict.reason = reason;
  const std::string text = told_as_text(verdict);
  EXPECT_NE(text.find(told(verdict)["hint"].get<std::string>()), std::string::npos);
  return told(verdict)["hint"];
}

TEST(Told, KeepsExpectedValuesOnTheTasksOwnShape) {
  EXPECT_EQ(
      hint(VerdictStage::verify,
           "output 0 (y): 2 of 64 elements are wrong; [0, 2]: got 1.5, expected 1.25 within 1e-06; [0, 3]: got nan, "
           "expected -inf within nan (typical values, D=8 N=8)"),
      "output 0 (y): 2 of 64 elements are wrong; [0, 2]: got 1.5; [0, 3]: got nan (typical values, D=8 N=8)");
  EXPECT_EQ(hint(VerdictStage::time, "wrong in a timed call: output 0: the result has shape [3], not [4]"),
            "wrong in a timed call: output 0: the result has shape [3]");
}

TEST(Told, LetsOnlyKnownWordsOutOfAHiddenShape) {
  EXPECT_EQ(
      hint(VerdictStage::hidden,
           "output 0 (y): 3 of 37 elements are wrong; [1]: got 37, expected 2 within 0 (special values, D=37 N=1)"),
      "on a hidden shape: elements are wrong; special values");
  EXPECT_EQ(hint(VerdictStage::hidden, "kw_run returned 3: D is 37 and expected 5 (typical values, D=37)"),
            "on a hidden shape: kw_run returned; typical values");
  EXPECT_EQ(
      hint(VerdictStage::guard,
           "touched memory that is not its own in kw_run: 37 bytes behind the end of input 0 (x) (ties values, D=37)"),
      "touched memory that is not its own; ties values");
  EXPECT_EQ(hint(VerdictStage::behaviour, "something new, D=37"), "no more can be told");
}

TEST(Told, TellsAllOfACompilersWords) {
  EXPECT_EQ(hint(VerdictStage::build, "does not compile: kernel.cpp:3: expected ;"),
            "does not compile: kernel.cpp:3: expected ;");
}

}  // namespace
}  // namespace kw::mcp
