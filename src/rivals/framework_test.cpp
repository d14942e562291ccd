// One conformance test over all rivals, and doubles of frameworks that go wrong. They install the frameworks once, into
// the build's own folder.
#include "rivals/framework.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "compose/plain.h"
#include "judge/judge.h"
#include "rivals/check.h"
#include "suites/catalog.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;

class SlowRivals : public testing::Test {
 protected:
  static RivalFile ready(const std::string& name) {
    auto rival = find_rival(name);
    EXPECT_TRUE(rival.ok()) << rival.error().message;
    const Status status = install(*rival);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return *rival;
  }

  static Verdict judged(const std::string& task_name, std::vector<judge::FrameworkRival*> frameworks, int pairs = 20) {
    const Task task = *suites::find_task(task_name);
    auto judge = judge::Judge::open();
    EXPECT_TRUE(judge.ok()) << judge.error().message;
    judge::Case one;
    one.task = &task;
    one.source = {"plain.cpp", *compose::plain_kernel(*ops::resolve(task))};
    one.frameworks = std::move(frameworks);
    one.pairs = pairs;
    const auto verdict = judge->judge(one);
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    return *verdict;
  }

  static fs::path cache() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "rivals-cache"; }

  const ScratchVariable cache_{"XDG_CACHE_HOME", cache().string()};
};

class SlowEveryRival : public SlowRivals, public testing::WithParamInterface<std::string> {
 protected:
  static std::string missing() {
    const RivalFile rival = *find_rival(GetParam());
    if (rival.only_asked.empty() || rival.installed()) return {};
    return fmt::format("{} takes {} and is tested where python3 has it", rival.name, rival.only_asked);
  }
};

TEST_P(SlowEveryRival, RunsTasksOfManyKindsRight) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  const RivalFile rival = ready(GetParam());
  // What every framework has; among them weights, several inputs, and an output of another length.
  for (const char* name : {"Relu", "Softmax", "Add", "MatMul", "Dense_Convolution_2D", "Concat"}) {
    auto framework = Framework::open(rival);
    ASSERT_TRUE(framework.ok());
    const Task task = *suites::find_task(name);
    const auto instance = targets::make_instance(task, task.lengths, 1);
    ASSERT_TRUE(framework->forget(*instance).ok());
    const judge::FrameworkStatus outcome = framework->enter(*instance, 1);
    EXPECT_FALSE(outcome) << name << ": " << outcome->text;
    EXPECT_TRUE(framework->trial().right()) << name << ": " << framework->trial().why;
    EXPECT_GT(framework->overhead_ns(), 100);
    EXPECT_LT(framework->overhead_ns(), 1e6);
  }
}

TEST_P(SlowEveryRival, IsTimedBesideAKernel) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  auto framework = Framework::open(ready(GetParam()));
  const Verdict verdict = judged("Relu", {&*framework});
  ASSERT_TRUE(verdict.accepted()) << text_of(verdict.reason);
  ASSERT_EQ(verdict.speedups.size(), 2u) << (verdict.left_out.empty() ? "" : verdict.left_out[0].why);
  const Speedup& speedup = verdict.speedups[1];
  EXPECT_EQ(speedup.rival, GetParam());
  ASSERT_TRUE(speedup.called);
  EXPECT_GT(speedup.called->time_ns, 0);
  // The headline is the one that is harder on us.
  EXPECT_LE(speedup.median, speedup.called->median);
  EXPECT_EQ(speedup.times.size(), static_cast<std::size_t>(speedup.pairs));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const RivalFile& rival : *all_rivals()) all.push_back(rival.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, SlowEveryRival, testing::ValuesIn(names()), [](const auto& one) { return one.param; });

TEST_F(SlowRivals, RememberWhatServesATaskBest) {
  auto framework = Framework::open(ready("onnxruntime"));
  const Task task = *suites::find_task("ELU");
  const auto instance = targets::make_instance(task, task.lengths, 1);
  ASSERT_TRUE(framework->forget(*instance).ok());
  ASSERT_FALSE(framework->enter(*instance, 1));
  const double time_ns = framework->trial().time_ns;
  auto later = Framework::open(ready("onnxruntime"));
  ASSERT_FALSE(later->enter(*instance, 1));
  EXPECT_EQ(later->trial().time_ns, time_ns);
  // Who only asks starts nothing: this one could not be started.
  RivalFile elsewhere = ready("onnxruntime");
  elsewhere.file = "/nonexistent.py";
  EXPECT_EQ(Framework::open(elsewhere)->tried(*instance, 1).time_ns, time_ns);
}

// A double in the environment of a real framework: it needs numpy.
RivalFile a_double(const RivalFile& real, const ScratchFolder& folder, const std::string& how) {
  RivalFile rival = real;
  rival.file = folder.path() / (how + ".py");
  fs::copy_file(fs::path(KW_SOURCE_DIR) / "tests" / "rivals" / "double.py", rival.file,
                fs::copy_options::overwrite_existing);
  return rival;
}

TEST_F(SlowRivals, ThatGoWrongDoNotCountAndTheJudgingGoesOn) {
  const ScratchFolder folder;
  const RivalFile real = ready("onnxruntime");
  // Patience is short only for what hangs: on a busy machine an honest import takes many seconds.
  const Patience usual, in_load{.load = std::chrono::seconds(1)}, in_run{.run = std::chrono::seconds(1)};
  struct Bad {
    std::string how, words;
    Patience patience;
  };
  for (const Bad& bad :
       {Bad{"hangs_in_load", "did not answer in time", in_load}, Bad{"hangs", "did not answer in time", in_run},
        Bad{"hangs_later", "this time did not answer", in_run}, Bad{"other_version", "0.1", usual},
        Bad{"dies_later", "this time crashed", usual}, Bad{"wrong", "wrong", usual}, Bad{"wrong_later", "wrong", usual},
        Bad{"eats_memory", "MemoryError", usual}, Bad{"ends", "ended by itself", usual}}) {
    auto framework = Framework::open(a_double(real, folder, bad.how), bad.patience);
    const Task task = *suites::find_task("Relu");
    ASSERT_TRUE(framework->forget(*targets::make_instance(task, task.lengths, 1)).ok());
    const Verdict verdict = judged("Relu", {&*framework}, 60);
    EXPECT_TRUE(verdict.accepted()) << bad.how << ": " << text_of(verdict.reason);
    EXPECT_EQ(verdict.speedups.size(), 1u) << bad.how;
    ASSERT_EQ(verdict.left_out.size(), 1u) << bad.how;
    EXPECT_NE(verdict.left_out[0].why.find(bad.words), std::string::npos) << bad.how << ": " << verdict.left_out[0].why;
    ASSERT_TRUE(framework->forget(*targets::make_instance(task, task.lengths, 1)).ok());
  }
}

TEST_F(SlowRivals, ThatPrintWithoutEndAreNotHeard) {
  const ScratchFolder folder;
  auto framework = Framework::open(a_double(ready("onnxruntime"), folder, "prints"));
  const Task task = *suites::find_task("Relu");
  const auto instance = targets::make_instance(task, task.lengths, 1);
  ASSERT_TRUE(framework->forget(*instance).ok());
  testing::internal::CaptureStdout();
  const judge::FrameworkStatus outcome = framework->enter(*instance, 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_FALSE(outcome) << outcome->text;
  ASSERT_TRUE(framework->forget(*instance).ok());
}

TEST_F(SlowRivals, HalfInstalledOnesAreMadeAnew) {
  const ScratchFolder folder;
  const ScratchVariable elsewhere("XDG_CACHE_HOME", folder.path().string());
  RivalFile rival = *find_rival("onnxruntime");
  fs::create_directories(rival.environment() / "bin");
  ASSERT_TRUE(write_file(rival.python(), "half").ok());
  EXPECT_FALSE(rival.installed());
  // What pip cannot find: a clear message, and still not installed.
  rival.lock = "kernelwright-has-no-such-package==1 --hash=sha256:" + std::string(64, '0') + "\n";
  const Status status = install(rival);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("kernelwright-has-no-such-package"), std::string::npos);
  EXPECT_FALSE(rival.installed());
}

}  // namespace
}  // namespace kw::rivals
