// NVRTC compiles without a GPU: these tests need libnvrtc alone, from CUDA's toolkit or from the wheel that the tests'
// Python has.
#include "targets/cuda/builder.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "suites/catalog.h"
#include "targets/cuda/plan_runner.h"

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;

class ABuilder : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_toolkit().ok()) GTEST_SKIP() << find_toolkit().error().message;
    auto opened = Builder::open("sm_90a");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    builder_ = std::make_unique<Builder>(std::move(*opened));
  }

  static std::string kernel(const std::string& name) {
    return *read_file(std::filesystem::path(KW_SOURCE_DIR "/tests/targets/cuda") / (name + ".cu"));
  }

  std::unique_ptr<CudaBuilt> built(const std::string& text, const Settings& settings = {}) {
    const auto tunables = read_tunables(text);
    auto made = builder_->build({"kernel.cu", text}, *choose(*tunables, settings, build_options()));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(*made);
  }

  // What the plan says for Relu in its own shape.
  std::variant<Plan, Reason> planned(const CudaBuilt& code, const PlanLimits& limits = {}) {
    auto runner = PlanRunner::open(builder_->sandbox(), *code.plan);
    EXPECT_TRUE(runner.ok());
    const auto deadline = targets::Clock::now() + 10s;
    EXPECT_EQ(text_of((*runner)->finish_loading(deadline)), "");
    const Task task = *suites::find_task("Relu");
    const auto instance = *targets::make_instance(task, task.lengths, 1);
    count_ = instance.inputs[0].shape.count();
    return *(*runner)->plan(instance, {""}, limits, deadline);
  }

  std::unique_ptr<Builder> builder_;
  std::int64_t count_ = 0;
};

TEST_F(ABuilder, MakesMachineCodeAndAPlan) {
  const auto code = built(kernel("right"));
  ASSERT_TRUE(code->ok()) << text_of(code->reason);
  EXPECT_EQ(code->cubin.substr(1, 3), "ELF");
  const auto plan = planned(*code);
  ASSERT_TRUE(std::holds_alternative<Plan>(plan)) << text_of(std::get<Reason>(plan));
  const Launch& launch = std::get<Plan>(plan).launches.at(0);
  EXPECT_EQ(launch.kernel, "relu");
  EXPECT_EQ(launch.grid[0], (count_ + 127) / 128);
  EXPECT_EQ(launch.arguments.size(), 3u);
}

TEST_F(ABuilder, SetsTunablesOnBothSides) {
  const std::string text = R"(#include <kernelwright_cuda.h>
KW_TUNE(BLOCK, 256, 128, 256);
#ifdef __CUDACC__
extern "C" __global__ void k(float* y) { static_assert(BLOCK == 64); y[threadIdx.x] = 0; }
#else
KW_PLAN(plan) { plan.launch("k", 1, BLOCK, plan.output(0)); }
#endif
)";
  EXPECT_FALSE(built(text)->ok());
  const auto code = built(text, {{"BLOCK", "64"}});
  ASSERT_TRUE(code->ok()) << text_of(code->reason);
  EXPECT_EQ(std::get<Plan>(planned(*code)).launches.at(0).block[0], 64);
}

TEST_F(ABuilder, NamesTheLineOfAnErrorInDeviceCodeAndInThePlan) {
  const auto device = built(kernel("does_not_build"));
  EXPECT_EQ(device->reason.code, ReasonCode::does_not_compile) << text_of(device->reason);
  ASSERT_FALSE(device->errors.empty());
  EXPECT_EQ(device->errors[0].line, 7);
  EXPECT_NE(device->errors[0].message.find("maximum"), std::string::npos) << device->errors[0].message;

  const auto plan =
      built("#include <kernelwright_cuda.h>\n#ifndef __CUDACC__\nKW_PLAN(plan) { plan.lunch(); }\n#endif\n");
  EXPECT_EQ(plan->reason.code, ReasonCode::does_not_compile) << text_of(plan->reason);
  ASSERT_FALSE(plan->errors.empty());
  EXPECT_EQ(plan->errors[0].line, 3);
}

TEST_F(ABuilder, ShowsAPlanThatFailsCrashesOrAsksForTooMuch) {
  const auto with_plan = [&](const std::string& body) {
    return built("#include <kernelwright_cuda.h>\n#ifndef __CUDACC__\nKW_PLAN(plan) { " + body + " }\n#endif\n");
  };
  const auto reason = [&](const std::string& body) {
    const auto code = with_plan(body);
    EXPECT_TRUE(code->ok()) << text_of(code->reason);
    const auto plan = planned(*code);
    return std::holds_alternative<Reason>(plan) ? std::get<Reason>(plan) : Reason{};
  };
  EXPECT_EQ(reason("plan.fail(\"too large\");").code, ReasonCode::returned_error);
  EXPECT_EQ(reason("abort();").code, ReasonCode::aborted);
  EXPECT_EQ(reason("*(volatile int*)8 = plan.inputs();").code, ReasonCode::touched_memory);
  EXPECT_EQ(reason("plan.launch(\"k\", 0, 32);").code, ReasonCode::bad_plan);
  EXPECT_EQ(reason("plan.scratch(1 << 30);").code, ReasonCode::bad_plan);
}

TEST_F(ABuilder, CannotReadFilesOfTheMachine) {
  const auto code = built("#include <kernelwright_cuda.h>\n#include \"/etc/passwd\"\n");
  EXPECT_EQ(code->reason.code, ReasonCode::does_not_compile);
  for (const SourceError& error : code->errors) EXPECT_EQ(error.message.find("root:"), std::string::npos);
}

TEST(ACudaKernel, ChoosesAmongNvrtcsOwnFlags) {
  const Tunables none;
  EXPECT_TRUE(choose(none, {{"flags", "--use_fast_math --maxrregcount=64"}}, build_options()).ok());
  EXPECT_FALSE(choose(none, {{"flags", "--maxrregcount=64;x"}}, build_options()).ok());
  EXPECT_FALSE(choose(none, {{"flags", "-I/etc"}}, build_options()).ok());
  EXPECT_FALSE(choose(none, {{"compiler", "g++"}}, build_options()).ok());
}

}  // namespace
}  // namespace kw::cuda
