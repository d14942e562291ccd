#include "runs/takeaway.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/filter.h"
#include "base/scratch.h"
#include "compose/plain.h"
#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw::runs {
namespace {

// y = x + w under any names, with what a stranger's model may call things.
Task task_called(const std::string& name, const std::string& x, const std::string& w) {
  Task task;
  task.name = name;
  for (const std::string& called : {x, w}) {
    Value value;
    value.name = called;
    value.role = called == w ? Role::constant : Role::input;
    value.dtype = DType::int64;
    value.lengths = {{4, {}}};
    if (called == w) value.constant = Tensor::of_integers({1, 2, 3, 4});
    task.values.push_back(value);
  }
  Node node;
  node.op = "Add";
  node.inputs = {x, w};
  node.outputs = {"template"};
  task.nodes = {node};
  task.outputs = {{"template", {}, {}}};
  return task;
}

testing::AssertionResult compiles(const std::filesystem::path& file) {
  const auto ran =
      run_filter({"g++", "-std=c++20", "-fsyntax-only", "-I", file.parent_path().string(), file.string()}, "");
  if (ran.ok() && ran->well()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << file << ": " << (ran.ok() ? ran->err : ran.error().message);
}

TEST(TakeAway, WritesSourcesThatCompileWhateverNamesHold) {
  const ScratchFolder folder;
  const std::string hostile =
      "a*/ \"\\\n#error a name became code\n@INPUTS@ ?\?/\n#error again\n" + std::string(5000, 'n');
  const Task task = task_called(hostile, "x\n#error x", "w\\\n#error w");
  Verdict verdict;
  verdict.time_ns = 1000;
  verdict.speedups = {{.rival = "plain\n#error rival"}};
  const std::string plain = compose::plain_kernel(*ops::resolve(task)).value();
  const auto files =
      take_away(folder.path(), task, {"kernel.cpp", plain}, {}, verdict, "cpu", "a machine\n#error machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(files->size(), 4u);
  for (const auto& file : *files) {
    EXPECT_LT(file.filename().string().size(), 80u);
    if (file.extension() != ".cpp") continue;
    EXPECT_TRUE(compiles(file));
  }
}

// A judged comment that goes on in the next line must not lose its beginning.
TEST(TakeAway, KeepsAnOpeningCommentThatGoesOn) {
  const ScratchFolder folder;
  const Task task = task_called("Sum", "x", "w");
  const std::string plain = compose::plain_kernel(*ops::resolve(task)).value();
  const std::string kernel = "// one\n// two \\\n#error this was a comment\n" + plain;
  const auto files = take_away(folder.path(), task, {"kernel.cpp", kernel}, {}, {}, "cpu", "a machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_TRUE(compiles(folder.path() / "Sum.cpp"));
  EXPECT_EQ(read_file(folder.path() / "Sum.cpp").value().find("// one\n"), std::string::npos);
}

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
                               verdict, "cpu", "A Processor");
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
}  // namespace kw::runs
