#include "runs/performance.h"

#include <gtest/gtest.h>

#include "base/scratch.h"
#include "runs/case_record.h"
#include "runs/task_text.h"
#include "suites/catalog.h"

namespace kw::runs {
namespace {

std::string text_for(const char* name, const targets::LeastTime& least, double time_ns) {
  const Task task = *suites::find_task(name, {});
  Verdict verdict{.task = task.name, .stage = VerdictStage::accepted, .max_error = 0.25, .time_ns = time_ns};
  return performance_text(*ops::resolve(task), verdict, &least, "");
}

// As it was seen: "no kernel can be faster than 147 us", then 176 % of it.
TEST(PerformanceText, NamesTheFormWhoseOperationsWereCounted) {
  const std::string text =
      text_for("Winograd_Convolution_2D_padding", {.arithmetic_ns = 147e3, .moving_ns = 9e3}, 84e3);
  EXPECT_NE(text.find("the direct form of the convolution takes at least 147 us"), std::string::npos) << text;
  EXPECT_NE(text.find("moving the bytes alone takes 9 us"), std::string::npos) << text;
  EXPECT_EQ(text.find("no kernel can"), std::string::npos) << text;
  EXPECT_EQ(text.find("little is left to gain"), std::string::npos) << text;
}

// Sliding sums and shorter polynomials do with less than what is counted: only moving bytes bounds every kernel.
TEST(PerformanceText, NeverSaysThatLittleIsLeftWhereArithmeticIsTheLimit) {
  for (const char* name : {"AveragePool_2d_strides", "Softplus_2d", "CumSum", "Gemm"}) {
    const std::string text = text_for(name, {.arithmetic_ns = 10e3, .moving_ns = 2e3}, 11e3);
    EXPECT_EQ(text.find("little is left"), std::string::npos) << text;
    EXPECT_EQ(text.find("a kernel takes at least"), std::string::npos) << text;
    EXPECT_NE(text.find("Another algorithm, with fewer operations, may be faster"), std::string::npos) << text;
  }
}

// As it was seen: "6.06 ms a call" of a kernel that takes 46 us, where other work ran on the same core.
TEST(PerformanceText, DoubtsATimeWhosePairsAreFarApart) {
  const Task task = *suites::find_task("TopK", {});
  Verdict verdict{.task = task.name, .stage = VerdictStage::accepted, .time_ns = 6.06e6};
  const char* doubt = "6.06 ms (other work ran beside it: a quiet call may take far less) a call";
  verdict.speedups.push_back({.rival = "plain", .median = 5.8, .low = 0.01, .high = 6.14});
  std::string text = performance_text(*ops::resolve(task), verdict, nullptr, "");
  EXPECT_NE(text.find(doubt), std::string::npos) << text;
  verdict.speedups[0].low = 5.6;
  text = performance_text(*ops::resolve(task), verdict, nullptr, "");
  EXPECT_NE(text.find("time: 6.06 ms a call"), std::string::npos) << text;
}

TEST(PerformanceText, SaysWhereLittleIsLeftAndHowLargeTheErrorIs) {
  const std::string text = text_for("Relu", {.arithmetic_ns = 1e3, .moving_ns = 9e3}, 10e3);
  EXPECT_NE(text.find("a kernel takes at least 9 us; the limit is moving bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("90.0 % of the roof: little is left to gain"), std::string::npos) << text;
  EXPECT_NE(text.find("largest error: at most 0.5 of what is allowed"), std::string::npos) << text;
}

TEST(TaskAsText, RoundsNoScaleOfItsExampleToZero) {
  const auto text = task_as_text(*suites::find_task("QLinearGlobalAveragePool_squeeze", {}));
  EXPECT_TRUE(text.ok()) << text.error().message;
}

TEST(TaskAsText, LeavesOutTheExampleAndAdviceWhereTheyAreNotWanted) {
  const ScratchFolder folder;  // a machine that was not measured
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  const Task task = *suites::find_task("Relu", {});
  const auto text = [&](const TaskTextParts& parts) { return *task_as_text(task, targets::usual_device(), parts); };
  for (const char* part : {"least time not known", "\nexample\n", "\ntensors\n"}) {
    EXPECT_NE(text({}).find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text({.advice = false}).find("least time"), std::string::npos);
  EXPECT_EQ(text({.example = false}).find("\nexample\n"), std::string::npos);
}

TEST(Terms, SayWhetherCachesWereCold) {
  EXPECT_EQ(terms_of({.threads = 2, .cold = true}), "cold caches, 2 threads");
  EXPECT_TRUE(are_cold(terms_of({.cold = true})));
  EXPECT_FALSE(are_cold(terms_of({})));
}

}  // namespace
}  // namespace kw::runs
