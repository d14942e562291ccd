// Shapes that are too large for the host, on a GPU: what it draws is what the CPU draws, and every element is compared
// there.
#include <gtest/gtest.h>

#include <cstring>

#include "judge/judge.h"
#include "judge/large.h"
#include "judge/plain_source.h"
#include "ops/draw.h"
#include "suites/catalog.h"

namespace kw::judge {
namespace {

constexpr char kLargeGpu[] = "cuda:0";

std::string relu_with(const std::string& body, const std::string& declared = "") {
  return "#include <kernelwright_cuda.h>\n" + declared +
         "\n#ifdef __CUDACC__\nextern \"C\" __global__ void k(float* x, float* y, int64_t count) {\n"
         "  for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < count; i += int64_t(gridDim.x) * 256) {\n" +
         body +
         "\n  }\n}\n#else\nKW_PLAN(plan) {\n  const int64_t count = plan.output(0).count();\n  if (count > 0) "
         "plan.launch(\"k\", 4096, 256, plan.input(0), plan.output(0), count);\n}\n#endif\n";
}

constexpr char kRightRelu[] = "    y[i] = x[i] > 0 ? x[i] : 0;";

class GpuLarge : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    why_ = targets::target_of(kLargeGpu)->missing(kLargeGpu);
    if (!why_.empty()) return;
    auto opened = Judge::open(kLargeGpu);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    judge_ = new Judge(std::move(*opened));
  }
  static void TearDownTestSuite() {
    delete judge_;
    judge_ = nullptr;
  }
  void SetUp() override {
    if (!why_.empty()) GTEST_SKIP() << why_;
  }

  static targets::LargeShapes& large() { return dynamic_cast<targets::LargeShapes&>(judge_->device()); }

  static std::unique_ptr<const targets::Built> built(const std::string& text) {
    const auto choice = choose(*read_tunables(text), {}, targets::build_options(kLargeGpu));
    auto made = judge_->device().build({"kernel.cu", text}, *choice);
    EXPECT_TRUE(made.ok() && (*made)->ok()) << (made.ok() ? text_of((*made)->reason) : made.error().message);
    return std::move(*made);
  }

  static Verdict judged(const Task& task, const std::string& text, bool timed = false) {
    Case one{.device = kLargeGpu, .task = &task, .source = {"kernel.cu", text}};
    one.timed = timed;
    one.plain = timed;
    one.budget_s = 1;
    const auto verdict = judge_->judge(one);
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    return verdict.ok() ? *verdict : Verdict{};
  }

  static Judge* judge_;
  static std::string why_;
};
Judge* GpuLarge::judge_ = nullptr;
std::string GpuLarge::why_;

TEST_F(GpuLarge, DrawsWhatTheCpuDraws) {
  const Task task = *suites::find_task("Relu", {{"N", 1001}, {"D", 997}});
  const auto instance = instance_for(judge_->device(), task, task.lengths, 1);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  const auto code = built(relu_with("    y[i] = x[i];"));
  const ops::Recipe recipes[] = {{.key = 11},
                                 {.key = 12, .first = 3, .last = 0.5},
                                 {.key = 13, .low = 0},
                                 {.key = 14, .last = 2, .low = -1, .high = 1},
                                 {.key = 15, .uniform = true},
                                 {.key = 16, .uniform = true, .first = -3, .last = 0}};
  for (const ops::Recipe& recipe : recipes) {
    const auto calls = judge_->device().make_calls();
    ASSERT_TRUE(calls.ok());
    const auto kernel = judge_->device().load(*code, **calls, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const auto deadline = targets::Clock::now() + std::chrono::seconds(20);
    ASSERT_EQ(text_of((*kernel)->finish_loading(deadline)), "");
    ops::Parts parts{.tensors = std::vector<Tensor>(1), .recipes = {recipe}};
    const targets::Placement place[] = {targets::Placement::shifted};
    ASSERT_TRUE(large().lay_out(**calls, *instance, place, parts).ok());
    large().write(**calls, 0, parts);
    const auto arranged = (*kernel)->arrange(**calls, *instance, deadline);
    ASSERT_TRUE(arranged.ok()) << arranged.error().message;
    ASSERT_EQ(text_of(*arranged), "");
    ASSERT_EQ(text_of((*kernel)->run(0, 1, deadline)), "");
    Tensor wanted(instance->inputs[0]), got(instance->inputs[0]);
    recipe.draw(wanted.as<float>());
    (*kernel)->outputs().read(0, 0, got.bytes());
    EXPECT_TRUE(std::ranges::equal(wanted.bytes(), got.bytes())) << recipe.key;
  }
}

// The device's reference and comparison on shapes that the CPU can do as well.
TEST_F(GpuLarge, HasReferencesThatAgreeWithTheCpus) {
  const std::pair<const char*, Lengths> tasks[] = {{"L1_23_Softmax", {{"N", 37}, {"D", 3001}}},
                                                   {"L1_40_LayerNorm", {}},
                                                   {"L1_1_Matmul_square", {{"N", 211}}},
                                                   {"L1_89_CumSum", {}},
                                                   {"L1_94_MSELoss", {}},
                                                   {"L1_51_ArgMax", {}}};
  for (const auto& [name, lengths] : tasks) {
    auto found = suites::find_task(name, lengths);
    if (!found.ok()) {
      ADD_FAILURE() << found.error().message;
      continue;
    }
    const Task task = made_affordable(*found, {.memory_bytes = 1e9, .reference_s = 0.2});
    const auto instance = instance_for(judge_->device(), task, task.lengths, 1);
    ASSERT_TRUE(instance.ok());
    const auto reference = large().reference_for(task);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    const auto source = plain_source(kLargeGpu, instance->graph);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const auto code = built(source->text);
    const auto calls = judge_->device().make_calls();
    const auto kernel = judge_->device().load(*code, **calls, {});
    const auto deadline = targets::Clock::now() + std::chrono::seconds(20);
    ASSERT_EQ(text_of((*kernel)->finish_loading(deadline)), "");
    const ops::Parts parts = ops::draw_parts(instance->graph, 5, 1);
    const targets::Placement places[] = {targets::Placement::aligned, targets::Placement::at_end};
    ASSERT_TRUE(large().lay_out(**calls, *instance, places, parts).ok());
    for (std::size_t call = 0; call < 2; ++call) large().write(**calls, call, parts);
    ASSERT_EQ(text_of(*(*kernel)->arrange(**calls, *instance, deadline)), "");
    ASSERT_EQ(text_of((*kernel)->run(0, 2, deadline)), "");
    // A plain kernel computes in double and rounds once: that is all that it may be off by.
    const std::vector<targets::OutputBound> bounds(instance->outputs.size(), {.floor = 1e-30, .share = 0x1.0001p-24});
    const auto checked = large().check(**kernel, **reference, 0, 2, bounds, deadline);
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    EXPECT_EQ(text_of(checked->reason), "");
    for (const auto& call : checked->calls) {
      for (const targets::CheckedOutput& output : call) {
        EXPECT_EQ(output.wrong, 0) << name;
        EXPECT_EQ(output.differs, 0) << name;
      }
    }
    // And it sees what is wrong: nothing was computed.
    (*kernel)->outputs().poison(1, 0x81, false);
    const auto wrong = large().check(**kernel, **reference, 0, 2, bounds, deadline);
    ASSERT_TRUE(wrong.ok() && wrong->calls.size() == 2) << name;
    EXPECT_EQ(wrong->calls[0][0].wrong, 0) << name;
    EXPECT_EQ(wrong->calls[1][0].wrong, wrong->calls[1][0].count) << name;
    EXPECT_EQ(wrong->calls[1][0].differs, wrong->calls[1][0].count) << name;
  }
}

TEST_F(GpuLarge, JudgesEightGigabytes) {
  const Task task = *suites::find_task("Relu", {{"N", 32768}, {"D", 32768}});
  ASSERT_FALSE(check_affordable(task, {.memory_bytes = 1e12}).ok());
  const auto begin = targets::Clock::now();
  const Verdict right = judged(task, relu_with(kRightRelu), true);
  EXPECT_TRUE(right.accepted()) << text_of(right.reason);
  EXPECT_GT(right.coverage.timed_calls_verified, 0);
  const double took_s = std::chrono::duration<double>(targets::Clock::now() - begin).count();
  fmt::print("accepted in {:.1f} s, a call takes {:.3f} ms\n", took_s, right.time_ns.value_or(0) / 1e6);
  EXPECT_LT(took_s, 30);
  const struct {
    const char* what;
    std::string body, declared;
    std::vector<VerdictStage> stages;
  } wrong[] = {{"one element is wrong",
                std::string(kRightRelu) + " if (i == 1000000007) y[i] += 1;",
                "",
                {VerdictStage::verify}},
               {"the end is left out",
                "    if (i < count - 5 || count < 1000000) y[i] = x[i] > 0 ? x[i] : 0;",
                "",
                {VerdictStage::verify, VerdictStage::hidden}},
               {"an input is changed",
                std::string(kRightRelu) + " if (i == 1000000007) x[i] = 1;",
                "",
                {VerdictStage::verify, VerdictStage::guard}},
               {"other bits at another address",
                std::string(kRightRelu) + " if (i == 1000000007 && uint64_t(y) % 16 != 0) y[i] += 1;",
                "",
                {VerdictStage::guard}},
               {"an element after the output",
                std::string(kRightRelu) + " if (i == 1000000007) y[count] = 1;",
                "",
                {VerdictStage::verify, VerdictStage::guard}}};
  for (const auto& one : wrong) {
    const Verdict verdict = judged(task, relu_with(one.body, one.declared));
    EXPECT_FALSE(verdict.accepted()) << one.what;
    EXPECT_NE(std::ranges::find(one.stages, verdict.stage), one.stages.end())
        << one.what << ": " << name_of(verdict.stage) << " " << text_of(verdict.reason);
    fmt::print("{:<35} {}: {}\n", one.what, name_of(verdict.stage), text_of(verdict.reason).substr(0, 150));
  }
}

}  // namespace
}  // namespace kw::judge
