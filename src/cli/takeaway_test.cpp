#include "cli/takeaway.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/filter.h"
#include "base/scratch.h"
#include "compose/plain.h"
#include "ops/graph.h"

namespace kw::cli {
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
  const auto files = take_away(folder.path(), task, {"kernel.cpp", plain}, {}, verdict, "a machine\n#error machine");
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
  const auto files = take_away(folder.path(), task, {"kernel.cpp", kernel}, {}, {}, "a machine");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_TRUE(compiles(folder.path() / "Sum.cpp"));
  EXPECT_EQ(read_file(folder.path() / "Sum.cpp").value().find("// one\n"), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
