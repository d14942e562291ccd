#include "runs/takeaway.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/filter.h"
#include "base/scratch.h"
#include "compose/plain.h"
#include "ops/graph.h"
#include "runs/drafts.h"
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

testing::AssertionResult compiles(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const auto ran = run_filter({"g++", "-std=c++20", "-fsyntax-only", "-I", folder.string(), file.string()}, "");
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
  EXPECT_EQ(files->size(), 8u);
  for (const auto& file : *files) {
    EXPECT_LT(file.filename().string().size(), 80u);
    if (file.extension() != ".cpp") continue;
    EXPECT_TRUE(compiles(folder.path(), file));
  }
}

// A judged comment that goes on in the next line must not lose its beginning.
// In a folder that came from somewhere, a link may stand where a folder of ours belongs.
TEST(TakeAway, WritesNothingWhereALinkLeads) {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  fs::create_directories(folder.path() / "out");
  fs::create_directories(folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", folder.path() / "out" / "check");
  const Task task = task_called("add", "x", "w");
  const std::string plain = compose::plain_kernel(*ops::resolve(task)).value();
  const auto files = take_away(folder.path() / "out", task, {"kernel.cpp", plain}, {}, {}, "cpu", "a machine");
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message.find("is a link"), std::string::npos) << files.error().message;
  EXPECT_TRUE(fs::is_empty(folder.path() / "elsewhere"));
}

// As it was seen: a search on a GPU spent its budget, and then ended in "kernels of cuda:0 cannot be taken away".
TEST(TakeAway, WritesTheSourceAloneOfATargetWhoseKernelsOnlyKwLaunches) {
  const ScratchFolder folder;
  const Task task = *suites::find_task("Relu");
  const auto files = take_away(folder.path(), task, {"kernel.txt", "lap_ns 10000\nKW_TUNE(SPEED_UP, 1, 1, 2, 4);\n"},
                               {{"SPEED_UP", "4"}, {"compiler", "none"}}, {}, "made_up", "a machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(files->at(1).filename(), "kernelwright.h");
  const std::string source = *read_file(files->at(0));
  EXPECT_NE(source.find("lap_ns 10000\nKW_TUNE(SPEED_UP, 4, 1, 2, 4);"), std::string::npos) << source;
  EXPECT_NE(source.find("kw eval Relu Relu.txt --on made_up"), std::string::npos) << source;
  EXPECT_EQ(source.find("KW_COMPILER"), std::string::npos) << "there is no other";
}

TEST(TakeAway, KeepsAnOpeningCommentThatGoesOn) {
  const ScratchFolder folder;
  const Task task = task_called("Sum", "x", "w");
  const std::string plain = compose::plain_kernel(*ops::resolve(task)).value();
  const std::string kernel = "// one\n// two \\\n#error this was a comment\n" + plain;
  const auto files = take_away(folder.path(), task, {"kernel.cpp", kernel}, {}, {}, "cpu", "a machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_TRUE(compiles(folder.path(), folder.path() / "Sum.cpp"));
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

// The first kernel that a search of this task would try, with its defaults.
Result<judge::Source> first_kernel(const Task& task) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const auto techniques, techniques_for("cpu"));
  KW_TRY(const std::vector<compose::Draft> drafts, drafts_for("cpu", graph, techniques));
  return judge::Source{"kernel.cpp", drafts.front().source};
}

void expect_taken(const std::filesystem::path& folder, const std::string& task_name) {
  const Task task = *suites::find_task(task_name);
  const auto kernel = first_kernel(task);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto files = take_away(folder, task, *kernel, {}, {}, "cpu", "a machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
}

// What a shell says to it; the commands are ours.
testing::AssertionResult succeeds(const std::string& command, const std::filesystem::path& folder) {
  const std::string log = (folder / "log.txt").string();
  if (std::system(fmt::format("cd {} && ({}) > {} 2>&1", folder.string(), command, log).c_str()) == 0) {
    return testing::AssertionSuccess() << *read_file(log);
  }
  return testing::AssertionFailure() << command << ":\n" << *read_file(log);
}

void put_in(const std::filesystem::path& file, const std::string& text, const std::string& instead) {
  std::string whole = *read_file(file);
  ASSERT_NE(whole.find(text), std::string::npos) << text;
  whole.replace(whole.find(text), text.size(), instead);
  ASSERT_TRUE(write_file(file, whole).ok());
}

// In a program in C, as a user would: with add_subdirectory.
TEST(SlowTakeAway, TwoKernelsLinkIntoOneProgramInC) {
  const ScratchFolder folder;
  expect_taken(folder.path() / "one", "Softmax");
  expect_taken(folder.path() / "two", "Relu");
  ASSERT_TRUE(write_file(folder.path() / "CMakeLists.txt",
                         "cmake_minimum_required(VERSION 3.16)\nproject(both C CXX)\nadd_subdirectory(one)\n"
                         "add_subdirectory(two)\nadd_executable(both main.c)\n"
                         "target_link_libraries(both Softmax Relu m)\n")
                  .ok());
  const auto count_of = [](const std::string& name) {
    return ops::resolve(*suites::find_task(name))->inputs[0].type.shape.count();
  };
  // With scratch memory where the header asks for it.
  const auto scratch = [&](const std::string& name, const std::string& taken) {
    const std::string header = *read_file(folder.path() / taken / (name + ".h"));
    return header.find("_SCRATCH_BYTES") == std::string::npos ? "" : ", malloc(" + name + "_SCRATCH_BYTES)";
  };
  ASSERT_TRUE(
      write_file(folder.path() / "main.c",
                 fmt::format("#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                             "#include \"Relu.h\"\n#include \"Softmax.h\"\n"
                             "int main(void) {{\n"
                             "  float* x = calloc({0}, 4);\n  float* y = calloc({0}, 4);\n"
                             "  if (Softmax_run(x, y{1}) != 0) return 1;\n"
                             "  float* z = calloc({2}, 4);\n  float* sum = calloc({2}, 4);\n"
                             "  for (int i = 0; i < {2}; ++i) z[i] = 2;\n"
                             "  if (Relu_run(z, sum{3}) != 0) return 2;\n"
                             "  double all = 0;\n  for (int i = 0; i < {2}; ++i) all += sum[i];\n"
                             "  printf(\"%d %.0f\", y[0] > 0 && y[0] == y[1], all);\n  return 0;\n}}\n",
                             count_of("Softmax"), scratch("Softmax", "one"), count_of("Relu"), scratch("Relu", "two")))
          .ok());
  ASSERT_TRUE(succeeds("cmake -B build && cmake --build build", folder.path()));
  EXPECT_TRUE(succeeds("build/both", folder.path()));
  EXPECT_EQ(*read_file(folder.path() / "log.txt"), fmt::format("1 {}", 2 * count_of("Relu")));
}

TEST(SlowTakeAway, TheCheckPassesAndFailsWhenOneElementIsOff) {
  const ScratchFolder folder;
  expect_taken(folder.path(), "Softmax");
  ASSERT_TRUE(succeeds("cmake -B build && cmake --build build && ctest --test-dir build", folder.path()));
  put_in(folder.path() / "Softmax.cpp", "  return status;",
         "  ((float*)out[0].data)[out[0].count - 1] *= 1.0001f;\n  return status;");
  ASSERT_TRUE(succeeds("cmake --build build", folder.path()));
  EXPECT_FALSE(succeeds("build/Softmax_check", folder.path()));
  EXPECT_NE(read_file(folder.path() / "log.txt")->find("WRONG, 1 of"), std::string::npos)
      << *read_file(folder.path() / "log.txt");
}

TEST(SlowTakeAway, NothingUnusedIsLeft) {
  const ScratchFolder folder;
  expect_taken(folder.path(), "Conv2d_1x1_project");
  const std::string text = *read_file(folder.path() / "Conv2d_1x1_project.cpp");
  EXPECT_EQ(text.find("winograd"), std::string::npos);
  EXPECT_LT(std::ranges::count(text, '\n'),
            1250);  // 1207 with the ways of ARM in vector.h and the threads that may be lent
  EXPECT_TRUE(
      succeeds("g++ -std=c++20 -march=native -I. -Wall -Wextra -Wunused-function -Werror -fsyntax-only "
               "Conv2d_1x1_project.cpp",
               folder.path()));
}

}  // namespace
}  // namespace kw::runs
