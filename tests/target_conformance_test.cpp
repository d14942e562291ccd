// What every target of the build must do, whatever it is. Its kernels are Relu, in tests/targets/NAME: right, wrong,
// does_not_build, never_ends, crashes and overruns, each with the ending of the target's first language. A target
// without such a folder has the language of another one, and is tried with its kernels.
#include <gtest/gtest.h>

#include <ostream>

#include "base/files.h"
#include "ops/draw.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::targets {

// Or a list of the tests shows the bytes of each.
void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

using namespace std::chrono_literals;

constexpr Placement kPlaces[] = {Placement::aligned, Placement::at_end, Placement::shifted};

// The first target whose sources have this target's ending.
Target first_of_its_language(const Target& target) {
  for (Target& other : all_targets()) {
    if (other.languages.at(0) == target.languages.at(0)) return std::move(other);
  }
  return target;
}

class EveryTarget : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    const std::string why = GetParam().missing ? GetParam().missing(GetParam().name) : "";
    if (!why.empty()) GTEST_SKIP() << why;
    auto device = GetParam().open(GetParam().name);
    ASSERT_TRUE(device.ok()) << device.error().message;
    device_ = std::move(*device);
    task_ = *suites::find_task("Relu");
    Lengths small;
    for (const auto& [name, value] : task_.lengths) small[name] = std::min<std::int64_t>(value, 37);
    auto instance = make_instance(task_, small, 1);
    ASSERT_TRUE(instance.ok()) << instance.error().message;
    instance_ = std::move(*instance);
    ASSERT_TRUE(device_->accepts(instance_).ok());
    calls_ = *device_->make_calls();
    inputs_ = ops::draw_inputs(instance_.graph, ops::InputClass::typical, 3);
  }

  std::unique_ptr<const Built> built(const std::string& which) {
    const std::string file = which + GetParam().languages.at(0);
    const auto text = read_file(std::filesystem::path(KW_SOURCE_DIR "/tests/targets") /
                                first_of_its_language(GetParam()).name / file);
    EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message);
    const auto tunables = read_tunables(*text);
    return *device_->build({file, *text}, *choose(*tunables, {}, build_options(GetParam().name)));
  }

  // Loaded and arranged, with the inputs written.
  std::unique_ptr<LoadedKernel> loaded(const std::string& which) {
    const auto code = built(which);
    EXPECT_TRUE(code->ok()) << text_of(code->reason);
    Random random(5);
    EXPECT_TRUE(calls_->lay_out(instance_, kPlaces, random).ok());
    auto kernel = *device_->load(*code, *calls_, {.threads = 1, .memory_bytes = instance_.all_bytes()});
    EXPECT_EQ(text_of(kernel->finish_loading(Clock::now() + 10s)), "");
    for (std::size_t call = 0; call < calls_->count(); ++call) {
      calls_->surround(call, 0, 0x85, 0x86);
      calls_->write(call, 0, inputs_[0]);
    }
    EXPECT_EQ(text_of(*kernel->arrange(*calls_, instance_, Clock::now() + 10s)), "");
    for (std::size_t call = 0; call < calls_->count(); ++call) kernel->outputs().poison(call, 0x99, true);
    return kernel;
  }

  bool is_right(LoadedKernel& kernel, std::size_t call) {
    Reason problem;
    const std::vector<Tensor> got = read_outputs(
        kernel.outputs(), instance_, call, [&](std::size_t i) { return kernel.found_shape(call, i); }, &problem);
    EXPECT_EQ(text_of(problem), "");
    const auto x = inputs_[0].as<float>();
    const auto y = got.at(0).as<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (y[i] != std::max(x[i], 0.0F)) return false;
    }
    return true;
  }

  std::unique_ptr<Device> device_;
  Task task_;
  Instance instance_;
  std::unique_ptr<Calls> calls_;
  std::vector<Tensor> inputs_;
};

TEST_P(EveryTarget, RunsARightKernelWhereverItsBuffersLie) {
  const auto kernel = loaded("right");
  for (std::size_t call = 0; call < std::size(kPlaces); ++call) {
    EXPECT_EQ(text_of(kernel->run(call, 1, Clock::now() + 10s)), "");
    EXPECT_TRUE(is_right(*kernel, call)) << call;
    EXPECT_EQ(text_of(kernel->outputs().overrun(call, 0x99)), "");
  }
  EXPECT_FALSE(kernel->varies());
  EXPECT_EQ(text_of(kernel->behaviour()), "");
}

TEST_P(EveryTarget, ShowsThatAWrongKernelIsWrong) {
  const auto kernel = loaded("wrong");
  EXPECT_EQ(text_of(kernel->run(0, 1, Clock::now() + 10s)), "");
  EXPECT_FALSE(is_right(*kernel, 0));
}

TEST_P(EveryTarget, SaysWhereASourceDoesNotBuild) {
  const auto code = built("does_not_build");
  EXPECT_EQ(code->reason.code, ReasonCode::does_not_compile) << text_of(code->reason);
  ASSERT_FALSE(code->errors.empty());
  EXPECT_GT(code->errors[0].line, 0);
}

TEST_P(EveryTarget, EndsAKernelThatDoesNotEndAndRunsTheNext) {
  const auto kernel = loaded("never_ends");
  const auto begin = Clock::now();
  EXPECT_EQ(kernel->run(0, 1, begin + 1s).code, ReasonCode::timed_out);
  EXPECT_LT(Clock::now() - begin, 8s);
  EXPECT_TRUE(device_->alive());
  const auto next = loaded("right");
  EXPECT_EQ(text_of(next->run(0, 1, Clock::now() + 10s)), "");
  EXPECT_TRUE(is_right(*next, 0));
}

TEST_P(EveryTarget, SurvivesAKernelThatCrashes) {
  const auto kernel = loaded("crashes");
  EXPECT_FALSE(kernel->run(0, 1, Clock::now() + 10s).empty());
  EXPECT_TRUE(device_->alive());
}

TEST_P(EveryTarget, SeesAWriteAfterTheEndOfAnOutput) {
  const auto kernel = loaded("overruns");
  bool seen = false;
  for (std::size_t call = 0; call < std::size(kPlaces) && !seen; ++call) {
    seen = !kernel->run(call, 1, Clock::now() + 10s).empty() || !kernel->outputs().overrun(call, 0x99).empty();
  }
  EXPECT_TRUE(seen);
}

TEST_P(EveryTarget, TimesCallsLongerThanNoCalls) {
  const auto kernel = loaded("right");
  const auto turn = device_->take_turn(1);
  turn->admit(*kernel);
  EXPECT_EQ(text_of(*turn->arrange(*kernel, *calls_, instance_, Clock::now() + 10s)), "");
  double most_ns = 0, least_empty_ns = 1e18;
  for (int i = 0; i < 5; ++i) {
    double warm_ns = 0;
    EXPECT_EQ(text_of(turn->make_ready(*kernel, 2, 2, Warmth::warm, &warm_ns, Clock::now() + 10s)), "");
    turn->before_writing();
    calls_->write(0, 0, inputs_[0]);
    turn->settle(*calls_, *kernel, 2, Warmth::warm);
    const Lap lap = turn->time(*kernel, 2, Clock::now() + 10s);
    EXPECT_EQ(text_of(lap.reason), "");
    most_ns = std::max(most_ns, lap.ns);
    EXPECT_TRUE(is_right(*kernel, 0));
    least_empty_ns = std::min(least_empty_ns, turn->time(*kernel, 0, Clock::now() + 10s).ns);
  }
  EXPECT_GT(most_ns, least_empty_ns);
}

TEST_P(EveryTarget, HasAnIdentityThatStaysTheSame) {
  EXPECT_FALSE(GetParam().identity(GetParam().name).empty());
  EXPECT_EQ(GetParam().identity(GetParam().name), GetParam().identity(GetParam().name));
}

TEST_P(EveryTarget, TellsWhatItIsInRows) {
  const DeviceFacts facts = facts_of(GetParam().name);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_EQ(facts.identity, facts_of(GetParam().name).identity);
  for (const Fact& row : facts.rows) EXPECT_FALSE(row.text.empty());
}

TEST_P(EveryTarget, IsChosenByTheEndingOfItsSources) {
  for (const Target& other : all_targets()) {
    const std::string file = "kernel" + GetParam().languages.at(0);
    const bool takes = std::ranges::find(other.languages, GetParam().languages.at(0)) != other.languages.end();
    const Target& chosen = takes ? other : first_of_its_language(GetParam());
    EXPECT_EQ(*device_for(file, other.name, false), chosen.first_device());
    EXPECT_EQ(device_for(file, other.name, true).ok(), takes);
  }
  EXPECT_FALSE(device_for("kernel.unheard", GetParam().name, false).ok());
}

// Each target by its first device; of devices behind a link also this machine, behind a shell, and other emulated
// processors; and the emulated GPU.
std::vector<Target> tried() {
  std::vector<Target> all = all_targets();
  Target& behind_a_shell = all.emplace_back(*target_of("command:sh"));
  behind_a_shell.name = "command:sh";
  Target& without_a_gpu = all.emplace_back(*target_of("cuda:emulated"));
  without_a_gpu.name = "cuda:emulated";
  // Where its compiler and emulator are.
  for (const char* name : {"emulated:armv7", "emulated:riscv64"}) {
    const Target other_processor = *target_of(name);
    if (other_processor.missing(name).empty()) all.emplace_back(other_processor).name = name;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryTarget, testing::ValuesIn(tried()), [](const auto& one) {
  std::string name = one.param.name;
  std::ranges::replace(name, ':', '_');
  return name;
});

TEST_P(EveryTarget, BuildsAtLeastOneKernelAtATime) { EXPECT_GE(device_->builds_at_once(), 1u); }

TEST(Targets, AreOneWhereNoDeviceIsNamed) {
  EXPECT_EQ(std::ranges::count(all_targets(), true, &Target::is_usual), 1);
  EXPECT_EQ(usual_device(), "cpu");
}

TEST(Targets, AreOpenedByNameAndTheNearestIsNamed) {
  EXPECT_TRUE(open_device("cpu").ok());
  const auto missing = open_device("cpuu:1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "no target is called 'cpuu'; nearest: cpu");
}

}  // namespace
}  // namespace kw::targets
