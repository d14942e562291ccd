// Techniques for GPUs with their neighbours: which nodes become one launch, and that such launches are right. Each
// technique alone, over its operators' random cases: techniques.cuda.NAME (tests/plain).
#include <gtest/gtest.h>

#include <map>

#include "judge/judge.h"
#include "runs/drafts.h"
#include "suites/catalog.h"
#include "suites/suite.h"
#include "targets/cuda/emulated/source.h"
#include "targets/cuda/groups.h"

namespace kw {
namespace {

constexpr char kEmulatedGpu[] = "cuda:emulated";

Task small_task(const std::string& name, std::int64_t most) {
  Task task = *suites::find_task(name);
  for (auto& [_, value] : task.lengths) value = std::min(value, most);
  return task;
}

Result<std::string> first_draft(const Task& task) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const auto techniques, runs::techniques_for(kEmulatedGpu));
  KW_TRY(const auto drafts, runs::drafts_for(kEmulatedGpu, graph, techniques));
  return drafts.front().source;
}

// The kernels that the first draft of a task has.
std::vector<std::string> kernels_of(const std::string& task) {
  const auto source = first_draft(*suites::find_task(task));
  EXPECT_TRUE(source.ok()) << source.error().message;
  return source.ok() ? cuda::kernels_in(*source) : std::vector<std::string>();
}

using Names = std::vector<std::string>;

TEST(CudaTechniques, ComputeWhatFollowsAProductWhereItIsWritten) {
  // Conv, Relu and Add: all kernels are the convolution's.
  for (const char* task : {"L2_1_Conv2D_ReLU_BiasAdd", "L2_4_Conv2d_Mish_Mish"}) {
    const Names names = kernels_of(task);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) EXPECT_TRUE(name.starts_with("node0_")) << task << ": " << name;
  }
}

TEST(CudaTechniques, ComputeWhatComesBeforeASumWhereItIsRead) {
  // x + mask, then a softmax.
  EXPECT_EQ(kernels_of("MaskedSoftmax_vit"), (Names{"node1_0"}));
  // Gate * sigmoid(gate) * up is one pass.
  EXPECT_EQ(kernels_of("SwiGLU_prompt"), (Names{"pass2"}));
}

TEST(CudaTechniques, KeepAResultThatOthersReadToo) {
  // x + residual is read by a normalisation and is a result itself, or is not: then it needs no memory.
  const Task task = *suites::find_task("AddRMSNorm_prompt");
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok());
  const auto techniques = runs::techniques_for(kEmulatedGpu);
  cuda::Choices choice;
  for (const ops::GraphNode& node : graph->nodes) {
    const auto serves = [&](const compose::Technique& one) { return *compose::applies(one, *graph, node); };
    choice.push_back(&*std::ranges::find_if(*techniques, serves));
  }
  const bool is_read_alone = graph->outputs.size() == 1;
  EXPECT_EQ(cuda::groups_of(*graph, choice)->size(), is_read_alone ? 1u : 2u);
}

void expect_right_first_draft(judge::Judge& judge, const Task& task) {
  const auto source = first_draft(task);
  ASSERT_TRUE(source.ok()) << source.error().message;
  judge::Case one{.device = kEmulatedGpu, .task = &task, .source = {"draft.cu", *source}, .timed = false};
  one.plain = false;
  const auto verdict = judge.judge(one);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << task.name << ": " << text_of(verdict->reason);
}

// A matrix and one vector: no random case of a product has that shape.
TEST(SlowCudaTechniques, MultiplyAMatrixByAVector) {
  auto judge = judge::Judge::open(kEmulatedGpu);
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  Task task = *suites::find_task("L1_4_Matmul_vector");
  task.lengths = {{"M", 5}, {"K", 70}};
  expect_right_first_draft(*judge, task);
}

// By the judge: hidden shapes, hard values, guards, another order of threads in every launch.
TEST(SlowCudaTechniques, AreRightWithTheirNeighbours) {
  auto judge = judge::Judge::open(kEmulatedGpu);
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  for (const char* name : {"L2_1_Conv2D_ReLU_BiasAdd", "MaskedSoftmax_vit", "AddRMSNorm_prompt", "SwiGLU_prompt"}) {
    expect_right_first_draft(*judge, small_task(name, 9));
  }
}

// Opsets before 11 have no inputs for them.
TEST(SlowCudaTechniques, ClipToLimitsThatAreAttributes) {
  auto judge = judge::Judge::open(kEmulatedGpu);
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  const auto suite = suites::parse_suite(R"toml(suite = "s"
about = "for a test"
[[task]]
name = "ClipOfOpset7"
category = "Activation"
opset = 7
inputs = ["x: float32[N=40]"]
nodes = ["p = Clip<min=-0.5, max=0.25>(x)", "y = Clip<max=0.0>(p)"]
)toml",
                                         "s.toml");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  expect_right_first_draft(*judge, suite->tasks[0]);
}

TEST(CudaTechniques, AreThoseOfATasksPrecision) {
  for (const auto& [precision, technique] : {std::pair("bfloat16", "product_half"),
                                             std::pair("float16", "product_half"), std::pair("tf32", "product_tf32")}) {
    const auto draft = first_draft(*suites::find_task(fmt::format("L1_1_Matmul_square@{}", precision)));
    ASSERT_TRUE(draft.ok()) << draft.error().message;
    EXPECT_NE(draft->find(technique), std::string::npos) << precision;
  }
  EXPECT_EQ(first_draft(*suites::find_task("L1_1_Matmul_square"))->find("product_tf32"), std::string::npos);
}

// By the judge: operands that both lie the other way.
TEST(SlowCudaTechniques, MultiplyInBfloat16) {
  auto judge = judge::Judge::open(kEmulatedGpu);
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  Task task = *suites::find_task("L1_18_Matmul_transposed_both@bfloat16");
  task.lengths = {{"M", 20}, {"K", 40}, {"N", 30}};
  expect_right_first_draft(*judge, task);
}

// Sums that are long enough for them: of both operands the other way round, and of a convolution of eight phases.
TEST(SlowCudaTechniques, KeepThePrecisionOfFloat32OnTensorCores) {
  auto judge = judge::Judge::open(kEmulatedGpu);
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  const std::map<std::string, Lengths> tasks = {
      {"L1_18_Matmul_transposed_both", {{"M", 20}, {"K", 40}, {"N", 30}}},
      {"L1_73_ConvTranspose_3d_strided", {{"N", 1}, {"C", 32}, {"D", 2}, {"H", 2}, {"W", 3}, {"M", 5}}}};
  for (const auto& [name, lengths] : tasks) {
    Task task = *suites::find_task(name);
    task.lengths = lengths;
    expect_right_first_draft(*judge, task);
  }
}

}  // namespace
}  // namespace kw
