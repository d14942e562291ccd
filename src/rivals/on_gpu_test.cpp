// The GPU's rivals without a GPU: a double of PyTorch, which computes on the CPU and tells made-up times.
#include "rivals/on_gpu.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "suites/catalog.h"
#include "targets/cuda/calls.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;

TEST(GpuRivals, ArePyTorchInTwoWays) {
  const auto all = gpu_rivals("");
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "torch");
  EXPECT_EQ((*all)[1].name, "torch_compile");
}

TEST(GpuRivals, SayThatTheUsersPythonHasNone) {
  OnGpu rival({.name = "torch", .module = "torch"}, 0);
  const Task task = *suites::find_task("Relu");
  const auto outcome = rival.enter(*targets::make_instance(task, task.lengths, 1), 1);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->text, "the user's Python has no torch (the setting python names another)");
}

// They need a Python with numpy, which a framework's environment has.
class SlowGpuRivals : public testing::Test {
 protected:
  void SetUp() override {
    const RivalFile real = *find_rival("onnxruntime");
    ASSERT_TRUE(install(real).ok());
    for (auto& [name, length] : task_.lengths) length = 24;
    own_ = {.program = real.python(), .version = "1.0", .path = ""};
  }

  OnGpu double_of(const std::string& how) const {
    const fs::path file = folder_.path() / (how + ".py");
    fs::copy_file(fs::path(KW_SOURCE_DIR) / "tests" / "rivals" / "gpu_double.py", file,
                  fs::copy_options::overwrite_existing);
    return OnGpu({.name = "double", .file = file, .module = "double", .own = own_}, 0,
                 {.prepare = std::chrono::seconds(how == "hangs" ? 1 : 60)});
  }

  // What came of two calls, of which the first is timed.
  judge::FrameworkStatus run(OnGpu& rival, double* time_ns) {
    instance_.emplace(*targets::make_instance(task_, task_.lengths, 1));
    if (auto outcome = rival.enter(*instance_, 1)) return outcome;
    Random random(1);
    const std::vector<targets::Placement> places(2, targets::Placement::aligned);
    EXPECT_TRUE(calls_.lay_out(*instance_, places, random).ok());
    outputs_ = *cuda::FrameworkOutputs::make(calls_);
    inputs_ = ops::draw_inputs(instance_->graph, ops::InputClass::typical, 3);
    for (std::size_t call = 0; call < 2; ++call) calls_.write(call, 0, inputs_[0]);
    if (auto outcome = rival.arrange(*calls_.shared_with(*outputs_), *instance_, {})) return outcome;
    return rival.run(0, 1, 1, time_ns, {});
  }

  const ScratchVariable cache_{
      "XDG_CACHE_HOME", (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "rivals-cache").string()};
  const ScratchFolder folder_;
  OwnPython own_;
  Task task_ = *suites::find_task("Relu");
  std::optional<targets::Instance> instance_;
  cuda::CudaCalls calls_;
  std::unique_ptr<targets::Outputs> outputs_;
  std::vector<Tensor> inputs_;
};

TEST_F(SlowGpuRivals, GetTheKernelsInputsAndLeaveTheirAnswers) {
  OnGpu rival = double_of("right");
  EXPECT_TRUE(rival.set_cold(true));
  double called_ns = 0;
  const auto outcome = run(rival, &called_ns);
  ASSERT_FALSE(outcome) << outcome->text;
  EXPECT_EQ(rival.version(), "1.0");
  EXPECT_EQ(called_ns, 9000);
  EXPECT_EQ(rival.own_ns(), 3000);
  EXPECT_EQ(rival.own_warm_ns(), 2000);
  ASSERT_FALSE(rival.fetch(0));
  const auto expected = ops::evaluate(instance_->graph, inputs_);
  const auto got = judge::outputs_of(rival, *outputs_, *instance_, 0);
  ASSERT_TRUE(expected.ok() && got.ok());
  EXPECT_TRUE(ops::compare((*expected)[0], (*got)[0]).right());
  // With warm caches there is one figure.
  EXPECT_TRUE(rival.set_cold(false));
  ASSERT_FALSE(rival.run(0, 1, 1, &called_ns, {}));
  EXPECT_EQ(rival.own_ns(), 2000);
  EXPECT_FALSE(rival.own_warm_ns());
}

TEST_F(SlowGpuRivals, ThatGoWrongSayHowAndAreStartedAnew) {
  using Kind = judge::FrameworkFailure::Kind;
  struct Bad {
    std::string how, words;
    Kind kind;
  };
  for (const Bad& bad : {Bad{"hangs", "did not answer in time in 1 s", Kind::slow},
                         Bad{"dies", "crashed", Kind::crashed}, Bad{"no_memory", "CUDA out of memory", Kind::refused},
                         Bad{"no_times", "something else than times", Kind::refused},
                         Bad{"lost", "an illegal memory access", Kind::refused}}) {
    OnGpu rival = double_of(bad.how);
    double time_ns = 0;
    const auto outcome = run(rival, &time_ns);
    ASSERT_TRUE(outcome) << bad.how;
    EXPECT_NE(outcome->text.find(bad.words), std::string::npos) << outcome->text;
    EXPECT_EQ(outcome->kind, bad.kind) << bad.how;
    // Its next task finds a process that answers.
    const auto again = rival.enter(*instance_, 1);
    EXPECT_FALSE(again) << bad.how << ": " << again->text;
  }
}

}  // namespace
}  // namespace kw::rivals
