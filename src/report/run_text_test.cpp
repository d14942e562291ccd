#include "report/run_text.h"

#include <gtest/gtest.h>

namespace kw::report {
namespace {

TEST(RunText, ALongNameKeepsItsDistinguishingEnd) {
  EXPECT_EQ(short_name("Relu", 10), "Relu");
  EXPECT_EQ(short_name("Winograd_Convolution_2D_padding", 20), "Winogr..._2D_padding");
}

TEST(RunText, NothingOfOthersSteersTheTerminal) { EXPECT_EQ(harmless("a\x1b[31m\nb"), "a [31m b"); }

TEST(RunText, ATimeOfAnotherFormStaysAsItIs) {
  EXPECT_EQ(short_time("2026-01-31T12:00:01Z"), "2026-01-31 12:00");
  EXPECT_EQ(short_time("yesterday"), "yesterday");
}

TEST(RunText, ASearchNamesWhatItSetOutForBeforeAnythingIsJudged) {
  store::RunSummary run;
  EXPECT_EQ(tasks_text(run, 30), "-");
  run.about.rules = R"({"tasks": [{"name": "Relu"}, {"name": "Gelu"}]})";
  EXPECT_EQ(tasks_text(run, 30), "Relu and 1 more");
  run.about.rules = R"({"tasks": [1]})";
  EXPECT_EQ(tasks_text(run, 30), "-");
}

// "1 of 9 accepted" of a search read as eight failures.
TEST(RunText, ASearchIsNotToldAsItsRejectedCandidates) {
  store::RunSummary run;
  run.planned = run.done = 9;
  run.accepted = 1;
  EXPECT_EQ(headline(run), "1 of 9 accepted");
  run.about.strategy = "auto";
  run.solved = 1;
  EXPECT_EQ(headline(run), "a right kernel, 8 tried");
  run.speedup = 2;
  run.rival = "mnn";
  run.machines = 2;
  EXPECT_EQ(headline(run), "a right kernel, 8 tried, 2.00 x mnn (over 2 machines: not one measure)");
}

}  // namespace
}  // namespace kw::report
