// kw inspect, and the parts of a task that it shows.
#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "inspect/model.h"
#include "judge/verdict_json.h"
#include "suites/suite.h"

namespace kw::inspect {
namespace {

Task task_of(const std::string& body) {
  auto suite = suites::parse_suite("suite = \"s\"\nabout = \"for a test\"\n[[task]]\n" + body, "s.toml");
  EXPECT_TRUE(suite.ok()) << (suite.ok() ? "" : suite.error().message);
  return suite->tasks.at(0);
}

TEST(Model, IsToldAsOnnxSaysItAndAsTheKernelSeesIt) {
  const Task task = task_of(R"toml(name = "Turned"
category = "Data"
inputs = ["x: float32[N=2, C=3] normal"]
weights = ["b: float32[C] normal"]
nodes = ["t = Transpose<perm=[1, 0]>(x)", "s = LeakyRelu(t)", "y = Transpose<perm=[1, 0]>(s)", "z = Add(y, b)"]
)toml");
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const std::string text = model_as_text(*graph);
  for (const char* line : {
           "  0. Transpose: x float32[2, 3] -> t float32[3, 2]\n       perm = [1, 0]\n",
           "  1. LeakyRelu: t float32[3, 2] -> s float32[3, 2]\n       alpha = 0.01  (default)\n",
           "  open lengths: C=3 N=2\n",
           "  call.input<float>(0)  x  float32[2, 3]  row-major, strides [3, 1] in elements  new with every call\n",
           "  call.input<float>(1)  b  float32[3]  row-major, strides [1] in elements  constant: KW_PREPARE may pack "
           "it\n",
           "  call.output<float>(0)  z  float32[2, 3]  row-major, strides [3, 1] in elements\n",
           "  call.integers(\"perm\")  [1, 0]\n",
           "  call.node(1).real(\"alpha\")  0.01\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
}

TEST(Model, ShowsWhatConstantsHold) {
  const Task task = task_of(R"toml(name = "Reshaped"
category = "Data"
inputs = ["x: float32[2, 6] normal"]
constants = ["s: int64[2] = [3, 4]"]
nodes = ["y = Reshape(x, s)"]
)toml");
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_NE(model_as_text(*graph).find("call.input<int64_t>(1)  s  int64[2]"), std::string::npos);
  EXPECT_EQ(inputs_of_kernel(*graph)[1].content, "[3, 4]");
}

TEST(InspectTask, TakesAVerdictOnThisTaskAlone) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "verdict.json").string();
  const auto inspect = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"inspect", "task", "Relu"};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int code = cli::run_program(words, out, err);
    return std::tuple(code, out.str(), err.str());
  };
  Verdict verdict{.task = "Relu",
                  .target = "cpu",
                  .stage = VerdictStage::verify,
                  .reason = {ReasonCode::other, {{"text", "all is wrong; it is NaN"}}}};
  ASSERT_TRUE(write_file(file, judge::verdict_as_json(verdict)).ok());
  const auto [code, out, err] = inspect({"--verdict", file});
  EXPECT_EQ(code, cli::kYes) << err;
  EXPECT_TRUE(out.ends_with("found wrong at the stage 'verify'\n  all is wrong\n  it is NaN\n")) << out;
  const auto [json_code, json, json_err] = inspect({"--verdict", file, "--json"});
  EXPECT_EQ(Json::parse(json)["nodes"][0]["operator"], "Relu");
  EXPECT_EQ(Json::parse(json)["inputs"][0]["call"], "call.input<float>(0)");

  verdict.task = "Softmax";
  ASSERT_TRUE(write_file(file, judge::verdict_as_json(verdict)).ok());
  EXPECT_NE(std::get<2>(inspect({"--verdict", file})).find("is a verdict on Softmax, not on Relu"), std::string::npos);
  ASSERT_TRUE(write_file(file, "[1, 2").ok());
  EXPECT_EQ(std::get<0>(inspect({"--verdict", file})), cli::kBroken);
}

TEST(Model, SaysWhatWasFoundWrongAndWhere) {
  const Verdict wrong{
      .stage = VerdictStage::hidden,
      .reason = {ReasonCode::other,
                 {{"text", "output 0 (y): wrong in 5 of 64 elements; only the last 5 of axis 1 (N=3)"}}}};
  EXPECT_EQ(findings_as_text(wrong),
            "found wrong at the stage 'hidden'\n  output 0 (y): wrong in 5 of 64 elements\n"
            "  only the last 5 of axis 1 (N=3)\n");
  EXPECT_EQ(findings_as_text({.stage = VerdictStage::accepted}), "nothing was found wrong\n");
}

}  // namespace
}  // namespace kw::inspect
