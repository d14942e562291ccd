#include "compose/compose.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/filter.h"
#include "compose/plain.h"
#include "compose/techniques.h"

namespace kw::compose {
namespace {

// float32[4, 4] under a name.
Value square(const std::string& name, Role role) {
  Value value;
  value.name = name;
  value.role = role;
  value.lengths = {{4, {}}, {4, {}}};
  return value;
}

// The product of the first two, the others added one after the other: a node that prepares its weight, and neighbours
// that are computed block by block. Results are called after `results` and numbered.
Task sum_of(const std::vector<std::string>& names, const std::string& results) {
  Task task;
  task.name = names[0];
  for (const std::string& name : names)
    task.values.push_back(square(name, &name == &names[1] ? Role::weight : Role::input));
  std::string sum = names[0];
  for (std::size_t i = 1; i < names.size(); ++i) {
    Node node;
    node.op = i == 1 ? "MatMul" : "Add";
    node.name = names[i];
    node.inputs = {sum, names[i]};
    sum = results + std::to_string(i);
    node.outputs = {sum};
    task.nodes.push_back(node);
  }
  task.outputs = {{sum, {}, {}}};
  return task;
}

// Whether a compiler takes it, with what it wrote where it does not.
testing::AssertionResult compiles(const std::string& source) {
  const std::string include = (*data_folder() / "include").string();
  const auto ran =
      run_filter({"g++", "-std=c++20", "-march=native", "-fsyntax-only", "-I", include, "-x", "c++", "-"}, source);
  if (ran.ok() && ran->well()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << (ran.ok() ? ran->err : ran.error().message)
                                     << source.substr(source.find("KW_KERNEL"));
}

TEST(Compose, TakesAnyNamesOfTensors) {
  const std::vector<std::string> names = {"template",
                                          "unsigned",
                                          "kept",
                                          "all",
                                          "count",
                                          "at",
                                          "call",
                                          "kw",
                                          "std",
                                          "int64_t",
                                          "in_step",
                                          "block_of",
                                          "Add",
                                          "MatMul",
                                          "matmul_packed",
                                          "errno",
                                          "assert",
                                          "linux",
                                          "x\nint z = *(int*)0;",
                                          "*/ int z; /*",
                                          "x ?\?/",
                                          "x \\",
                                          "\"",
                                          "a b",
                                          "a_b",
                                          "A_b",
                                          std::string(10'000, 'n')};
  const Task task = sum_of(names, "count");
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto plain = plain_kernel(*graph);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_TRUE(compiles(*plain));
  const auto techniques = read_techniques("cpu");
  ASSERT_TRUE(techniques.ok()) << techniques.error().message;
  const auto drafts = drafts_of(*graph, *techniques);
  ASSERT_TRUE(drafts.ok()) << drafts.error().message;
  EXPECT_NE(drafts->front().source.find("kept["), std::string::npos);
  EXPECT_NE(drafts->front().source.find("in_step("), std::string::npos);
  EXPECT_TRUE(compiles(drafts->front().source));
}

// What a name holds stands nowhere but in identifiers and in comments.
TEST(Compose, NeverLetsANameBecomeCode) {
  Task task = sum_of({"x\n#include \"/etc/passwd\"", "a; abort();", "*/ abort();"}, "\nabort();");
  task.name = "task \\\n#include </etc/passwd>\nabort(); ?\?/\nabort();";
  const std::string source = plain_kernel(*ops::resolve(task)).value();
  EXPECT_TRUE(source.starts_with("// task __#include </etc/passwd>_abort(); __/_abort();: ")) << source.substr(0, 200);
  const std::string code = source.substr(source.find('\n'));
  EXPECT_EQ(code.find("passwd>"), std::string::npos);
  EXPECT_EQ(code.find("passwd\""), std::string::npos);
  EXPECT_EQ(code.find("abort("), std::string::npos);
}

}  // namespace
}  // namespace kw::compose
