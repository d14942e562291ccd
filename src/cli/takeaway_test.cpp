#include "cli/takeaway.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "suites/catalog.h"

namespace kw::cli {
namespace {

constexpr char kKernel[] = R"(#include <kernelwright.h>
KW_TUNE(STEP, 1, 1, 2);
KW_KERNEL(call) { (void)call; }
)";

TEST(TakeAway, GoesToAFolderThatEveryShellTakes) {
  EXPECT_EQ(takeaway_folder("MatMul_2"), "MatMul_2-kernel");
  EXPECT_EQ(takeaway_folder("my models/net.onnx:#0"), "my_models_net_onnx__0-kernel");
}

// What was only tested is not called proven, and what stands above the roof is explained.
TEST(TakeAway, SaysWhatWasTestedAndMeasured) {
  const ScratchFolder folder;
  Verdict verdict{.task = "Relu", .stage = VerdictStage::accepted, .max_error = 0.5, .time_ns = 1000};
  verdict.caches = "warm";
  verdict.roof_fraction = 1.25;
  verdict.speedups = {{.rival = "mnn", .median = 2, .low = 1.9, .high = 2.1, .claimed = true}};
  const auto files = take_away(folder.path(), *suites::find_task("Relu"), {"relu.cpp", kKernel}, {{"STEP", "2"}},
                               verdict, "A Processor");
  ASSERT_TRUE(files.ok()) << files.error().message;
  const std::string text = *read_file(files->at(0));
  for (const char* part :
       {"// Relu: Relu", "What was tested and measured:", "2.000 times as fast as mnn [1.900, 2.100]",
        "125 % of the speed that the machine's limits allow an algorithm that does every operation"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing:\n" << text;
  }
  EXPECT_EQ(text.find("proven"), std::string::npos);
  EXPECT_EQ(text.find("KW_TUNE"), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
