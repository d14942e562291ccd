#include "agents/answer.h"

#include <gtest/gtest.h>

namespace kw::agents {
namespace {

const std::string kBase = "#include <kernelwright.h>\nKW_KERNEL(call) {\n  int a = 1;\n    int b = 2;\n}\n";

// As it was seen: no CUDA kernel was ever taken.
TEST(CodeIn, TakesAKernelWithAPlan) {
  for (const char* language : {"cpp", "cuda", "cu", ""}) {
    const Code code = code_in(fmt::format("```{}\nKW_PLAN(plan) {{}}\n```\n", language), "");
    EXPECT_EQ(code.problem, "");
    EXPECT_EQ(code.source, "KW_PLAN(plan) {}\n");
  }
}

TEST(CodeIn, FindsTheKernelHoweverItIsWrapped) {
  const std::string kernel = "KW_KERNEL(call) {}\n";
  EXPECT_EQ(code_in("Sure!\n```cpp\n" + kernel + "```\nEnjoy.", "").source, kernel);
  EXPECT_EQ(code_in("```\n" + kernel + "```", "").source, kernel);
  EXPECT_EQ(code_in("#include <kernelwright.h>\n" + kernel, "").source, "#include <kernelwright.h>\n" + kernel);
  EXPECT_EQ(code_in("A draft:\n```cpp\nKW_KERNEL(c) { draft }\n```\nBetter:\n```cpp\n" + kernel + "```\n", "").source,
            kernel);
  EXPECT_EQ(code_in("```bash\nmake\n```\n```cpp\n" + kernel + "```\n", "").source, kernel);
  EXPECT_EQ(code_in("<think>```cpp\nKW_KERNEL(wrong)\n```</think>\n```cpp\n" + kernel + "```\n", "").source, kernel);
}

TEST(CodeIn, SaysWhyThereIsNone) {
  EXPECT_NE(code_in("I cannot do that.", "").problem.find("no ``` fence"), std::string::npos);
  EXPECT_NE(code_in("```python\nimport numpy\n```", "").problem.find("in python"), std::string::npos);
  EXPECT_NE(code_in("```cpp\nint f();\n```", "").problem.find("none of KW_KERNEL"), std::string::npos);
  EXPECT_NE(code_in("```cpp\nKW_KERNEL(call) { and then", "").problem.find("breaks off"), std::string::npos);
  EXPECT_NE(code_in("", "").problem, "");
  EXPECT_NE(code_in(std::string(1 << 20, 'x'), "").problem, "");
}

TEST(CodeIn, AppliesEdits) {
  const auto edit = [](const std::string& search, const std::string& replace) {
    return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
  };
  const Code exact = code_in(edit("  int a = 1;\n", "  int a = 3;\n") + "and\n" + edit("    int b = 2;\n", ""), kBase);
  EXPECT_EQ(exact.problem, "");
  EXPECT_EQ(exact.edits, 2);
  EXPECT_EQ(exact.source, "#include <kernelwright.h>\nKW_KERNEL(call) {\n  int a = 3;\n}\n");
  EXPECT_EQ(code_in(edit("int b=2;\n", "  int b = 5;\n"), kBase).source,
            "#include <kernelwright.h>\nKW_KERNEL(call) {\n  int a = 1;\n  int b = 5;\n}\n");
  EXPECT_NE(code_in(edit("int c;\n", "x\n"), kBase).problem.find("does not stand in the file"), std::string::npos);
  EXPECT_NE(code_in(edit("int\n", "x\n"), "int\nint\n").problem.find("more than once"), std::string::npos);
  EXPECT_NE(code_in("<<<<<<< SEARCH\nint a\n", kBase).problem.find("not finished"), std::string::npos);
  EXPECT_NE(code_in(edit("  int a = 1;\n", "  int a = 1;\n"), kBase).problem.find("change nothing"), std::string::npos);
}

TEST(CodeIn, ShowsTheNearestLinesWhereAnEditDoesNotFit) {
  const Code code = code_in("<<<<<<< SEARCH\n  int a = 7;\n    int b = 2;\n=======\nx\n>>>>>>> REPLACE\n", kBase);
  EXPECT_NE(code.problem.find("   3   int a = 1;\n   4     int b = 2;\n"), std::string::npos) << code.problem;
}

// As it was seen: a call was renamed by an edit that held the call alone.
TEST(CodeIn, TakesAPieceOfOneLineWhereItStandsOnce) {
  const auto edit = [](const std::string& search, const std::string& replace) {
    return "<<<<<<< SEARCH\n" + search + "\n=======\n" + replace + "\n>>>>>>> REPLACE\n";
  };
  EXPECT_EQ(code_in(edit("b = 2", "b = 5"), kBase).source,
            "#include <kernelwright.h>\nKW_KERNEL(call) {\n  int a = 1;\n    int b = 5;\n}\n");
  EXPECT_NE(code_in(edit("int", "long"), kBase).problem, "") << "twice";
  const std::string far = code_in(edit("b = maximum(2);", "x"), kBase).problem;
  EXPECT_NE(far.find("   4     int b = 2;"), std::string::npos) << far;
}

TEST(LooksIn, FindsWhatAModelWantsToSee) {
  const auto looks = looks_in(
      "Let me see.\n```look\nLIST source/cpu/\nFIND float softmax\nREAD a.cpp 10-20\nread b.cpp "
      "row_sum\nnonsense\n```\n");
  ASSERT_EQ(looks.size(), 4u);
  EXPECT_EQ(looks[0].what, "source/cpu");
  EXPECT_EQ(looks[1].what, "float softmax");
  EXPECT_EQ(looks[2].first, 10);
  EXPECT_EQ(looks[2].last, 20);
  EXPECT_EQ(looks[3].scope, "row_sum");
  EXPECT_TRUE(looks_in("```look\nLIST\n```\n```cpp\nKW_KERNEL(call) {}\n```").empty()) << "it has answered";
  EXPECT_TRUE(looks_in("{\"plan\": \"LIST\"}").empty());
}

TEST(PlanIn, HoldsAnAnswerToItsSchema) {
  const std::vector<Field> schema = {{"cause", 20}, {"reach", 10, {"local", "cross"}}, {"plan"}};
  const Plan good = plan_in(
      "Well:\n```json\n{\"cause\": \"a {brace}\", \"reach\": \"local\", \"plan\": [\"1\", \"2\"]}\n```", schema);
  EXPECT_EQ(good.problem, "");
  EXPECT_EQ(good.of("cause"), "a {brace}");
  EXPECT_EQ(good.of("plan"), "1\n2\n");
  EXPECT_EQ(plan_in("no", schema).problem, "there is no JSON object in it");
  EXPECT_EQ(plan_in("{\"cause\": \"x\"}", schema).problem, "the field \"reach\" is missing");
  EXPECT_EQ(plan_in("{\"cause\": 7}", schema).problem, "the field \"cause\" is no text");
  EXPECT_EQ(plan_in("{\"cause\": \" \"}", schema).problem, "the field \"cause\" is empty");
  EXPECT_NE(plan_in("{\"cause\": \"x\", \"reach\": \"far\", \"plan\": \"p\"}", schema).problem.find("\"far\""),
            std::string::npos);
  EXPECT_NE(plan_in("{\"cause\": \"" + std::string(30, 'x') + "\"}", schema).problem.find("20 are allowed"),
            std::string::npos);
  EXPECT_NE(plan_in("{\"cause\": \"x", schema).problem, "");
}

}  // namespace
}  // namespace kw::agents
