#include "suites/suite.h"

#include <gtest/gtest.h>

#include "ops/graph.h"

namespace kw::suites {
namespace {

// A suite of one task whose lines a test replaces.
std::string suite_with(const std::string& task_lines) {
  return "suite = \"s\"\n\n[[task]]\nname = \"t\"\ncategory = \"c\"\n" + task_lines;
}

constexpr const char* kSinOfX = R"toml(inputs = ["x: float32[N=4, 3] in [0, 1]"]
nodes = ["y = Sin(x)"]
)toml";

std::string error_of(const std::string& text) {
  const auto suite = parse_suite(text, "my.toml");
  return suite.ok() ? "no error" : suite.error().message;
}

std::string resolve_error_of(const std::string& text) {
  const auto suite = parse_suite(text, "my.toml");
  if (!suite.ok()) return suite.error().message;
  const auto graph = ops::resolve(suite->tasks.at(0));
  return graph.ok() ? "no error" : graph.error().message;
}

TEST(SuiteReader, ReadsATask) {
  const auto suite = parse_suite(suite_with(kSinOfX), "my.toml");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  const Task& task = suite->tasks.at(0);
  EXPECT_EQ(task.lengths, (Lengths{{"N", 4}}));
  EXPECT_EQ(task.values.at(0).spread->high, 1);
  EXPECT_EQ(task.outputs.at(0).name, "y");
  EXPECT_EQ(task.operators(), "Sin");
}

TEST(SuiteReader, NamesFileLineAndColumnOfABrokenLine) {
  EXPECT_EQ(error_of(suite_with("inputs = [\"x: float32[4\"]\nnodes = [\"y = Sin(x)\"]\n")),
            "my.toml:6:24: expected ']' after the lengths");
  EXPECT_EQ(error_of(suite_with("inputs = [\"x: flaot32[4]\"]\nnodes = [\"y = Sin(x)\"]\n")),
            "my.toml:6:15: no type is called 'flaot32'; nearest: float32");
  EXPECT_EQ(error_of(suite_with("inputs = [\"x: float32[M]\"]\nnodes = [\"y = Sin(x)\"]\n")),
            "my.toml:6:23: length 'M' has no value yet; write M=NUMBER where it is first used");
  EXPECT_TRUE(error_of("suite = \"s\n").starts_with("my.toml:1:")) << error_of("suite = \"s\n");
}

TEST(SuiteReader, RefusesUnknownKeysWithTheNearest) {
  EXPECT_EQ(error_of(suite_with("input = [\"x: float32[4]\"]\n")),
            "my.toml:6:1: no key is called 'input'; nearest: inputs");
}

// A letter beyond ASCII in a key led toml++ to where it says that no letter leads; "[=" broke an assertion of its own.
TEST(SuiteReader, RefusesWhatItsParserDoesNotExpect) {
  for (const char* text : {"Y\u0426 = 1", "Y\u0426", "\u2003", "[=", "a = \"\u0426"}) {
    EXPECT_FALSE(parse_suite(text, "t.toml").ok()) << text;
  }
}

TEST(SuiteReader, RefusesASizeThatOverflows) {
  const std::string error =
      error_of(suite_with("inputs = [\"x: float32[4294967296, 4294967296]\"]\nnodes = [\"y = Sin(x)\"]\n"));
  EXPECT_NE(error.find("more than 2^40 elements"), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("my.toml:6:15")) << error;
}

TEST(SuiteReader, GivesAFilesLevelToItsTasks) {
  const auto suite = parse_suite("level = 2\n" + suite_with(kSinOfX), "my.toml");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  EXPECT_EQ(suite->tasks.at(0).level, 2);
  EXPECT_EQ(error_of("level = \"two\"\n" + suite_with(kSinOfX)),
            "my.toml:1:9: 'level' must be a whole number from 1 to 99");
}

TEST(SuiteReader, RefusesTwoTasksOfOneName) {
  const std::string once = suite_with(kSinOfX);
  const std::string error = error_of(once + once.substr(once.find("[[task]]")));
  EXPECT_NE(error.find("a task is called 't' already"), std::string::npos) << error;
}

TEST(Resolving, SaysWhereTheOperatorForbidsTheShape) {
  EXPECT_EQ(resolve_error_of(suite_with("inputs = [\"x: float32[4, 3]\"]\nnodes = [\"y = ArgMax<axis=2>(x)\"]\n")),
            "my.toml:7:15: ArgMax: axis 2 is outside the 2 axes of the tensor (allowed: -2 to 1)");
}

TEST(Resolving, OffersTheNearestOperatorAndAttribute) {
  EXPECT_EQ(resolve_error_of(suite_with("inputs = [\"x: float32[4, 3]\"]\nnodes = [\"y = ArgMix(x)\"]\n")),
            "my.toml:7:15: ArgMix: unknown operator; nearest: ArgMax, ArgMin");
  EXPECT_EQ(resolve_error_of(suite_with("inputs = [\"x: float32[4, 3]\"]\nnodes = [\"y = ArgMax<axes=1>(x)\"]\n")),
            "my.toml:7:15: ArgMax: no attribute 'axes'; nearest: axis");
}

TEST(Resolving, RefusesAnInputThatNothingComputes) {
  EXPECT_EQ(resolve_error_of(suite_with("nodes = [\"y = Sin(x)\"]\n")),
            "my.toml:6:15: Sin: uses 'x', which nothing before it declares or computes");
}

TEST(Resolving, LetsAttributesAndConstantsFollowNamedLengths) {
  const auto suite =
      parse_suite(suite_with("inputs = [\"x: float32[N=2, C=3]\"]\nconstants = [\"axes: int64[1] = [1]\"]\n"
                             "nodes = [\"s = ReduceSum(x, axes)\", \"y = ArgMax<axis=0, keepdims=N>(s)\"]\n"),
                  "my.toml");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  const auto graph = ops::resolve(suite->tasks.at(0), {{"N", 5}, {"C", 7}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->inputs.at(0).type.shape, (Shape{5, 7}));
  EXPECT_EQ(graph->nodes.at(1).call.integer("keepdims"), 5);
}

}  // namespace
}  // namespace kw::suites
