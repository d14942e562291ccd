// A small model, profiled, taken apart into groups, put together again with kernels of ours, and run beside the
// original in an unmodified ONNX Runtime.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/process.h"
#include "base/scratch.h"
#include "models/library.h"
#include "models/plan.h"
#include "models/regions.h"
#include "models/runtime.h"
#include "models/times.h"
#include "runs/drafts.h"
#include "whole_models/small_model.h"

namespace kw::models {
namespace {

constexpr char kDevice[] = "cpu";

Result<Runtime> runtime_of_tests() {
  const char* python = std::getenv("KW_TEST_PYTHON");
  rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
  rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
  return Runtime::open(rival);
}

class WholeModels : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(file("small.onnx"), small_model()).ok());
    auto opened = Model::open(file("small.onnx"), {{"N", 2}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    model_.emplace(*std::move(opened));
    auto runtime = runtime_of_tests();
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_.emplace(*std::move(runtime));
    terms_ = terms_of(*model_);
    terms_.seconds = 0.2;
  }

  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  // The first kernel that the techniques make for each kind.
  std::vector<LibraryKernel> first_kernels(const Plan& plan) const {
    std::vector<LibraryKernel> kernels;
    const auto techniques = runs::techniques_for(kDevice);
    EXPECT_TRUE(techniques.ok());
    for (const GroupKind& kind : plan.kinds) {
      const auto graph = ops::resolve(kind.task);
      EXPECT_TRUE(graph.ok());
      auto drafts = runs::drafts_for(kDevice, *graph, *techniques);
      EXPECT_TRUE(drafts.ok() && !drafts->empty());
      kernels.push_back({kind.op, kind.task, {"kernel.cpp", drafts->front().source}, {}, "of a test"});
    }
    return kernels;
  }

  // Every group that no other one overlaps, the whole ones first.
  static std::vector<Chosen> all_of(const Plan& plan) {
    std::vector<Chosen> chosen;
    std::set<std::size_t> taken;
    for (const bool tails : {false, true}) {
      for (std::size_t k = 0; k < plan.kinds.size(); ++k) {
        for (std::size_t g = 0; g < plan.kinds[k].groups.size(); ++g) {
          const auto& nodes = plan.kinds[k].groups[g].nodes;
          if (plan.kinds[k].is_tail != tails) continue;
          if (std::ranges::any_of(nodes, [&](std::size_t node) { return taken.contains(node); })) continue;
          taken.insert(nodes.begin(), nodes.end());
          chosen.push_back({k, g});
        }
      }
    }
    return chosen;
  }

  // model.onnx and libkernels.so with kernels for every group.
  void put_together() {
    const auto times = where_time_goes(*model_, *runtime_, terms_, kDevice);
    ASSERT_TRUE(times.ok()) << times.error().message;
    const auto plan = plan_of(*model_, *times, kDevice, 600);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_GE(plan->kinds.size(), 3u);
    const Status built = write_library(folder_.path(), first_kernels(*plan), "kernelwright.small", kDevice);
    ASSERT_TRUE(built.ok()) << built.error().message;
    const auto bytes = model_with(*model_, plan->kinds, all_of(*plan), "kernelwright.small");
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    ASSERT_TRUE(write_file(file("model.onnx"), *bytes).ok());
  }

  kw::ScratchFolder folder_;
  std::optional<Model> model_;
  std::optional<Runtime> runtime_;
  RunTerms terms_;
};

TEST_F(WholeModels, EveryNodeHasATimeOrWasJoinedWithAnother) {
  const auto times = where_time_goes(*model_, *runtime_, terms_, kDevice);
  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_GT(times->total_ns, 0);
  double sum = 0;
  for (std::size_t i = 0; i < model_->count(); ++i) sum += times->node_ns[i];
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum, 2 * times->median_ns);
  // Both convolutions are alike.
  const auto conv = std::ranges::find(times->rows, "Conv", &TimeRow::op);
  ASSERT_NE(conv, times->rows.end());
  EXPECT_EQ(conv->nodes.size(), 2u);
  EXPECT_GT(conv->in_model_ns, 0);
  EXPECT_TRUE(conv->obstacle.empty());
}

TEST_F(WholeModels, ManySmallNodesAreOneKernel) {
  const ModelTimes times = without_times(*model_, kDevice);  // nothing takes long
  auto regions = small_regions_of(*model_, times, kDevice, {0});
  ASSERT_TRUE(regions.ok()) << regions.error().message;
  ASSERT_EQ(regions->size(), 1u);
  const Region& all = regions->front();
  EXPECT_EQ(all.kind.groups[0].nodes.size(), model_->count() - 1);  // everything but the first convolution
  EXPECT_EQ(all.kind.task.outputs.size(), 2u);
  const Status built =
      write_library(folder_.path(), {{all.kind.op, all.kind.task, {"small.cpp", all.kernel.source}, {}, "of a test"}},
                    "mine", kDevice);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto bytes = model_with(*model_, {all.kind}, {{0, 0}}, "mine");
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  ASSERT_TRUE(write_file(file("model.onnx"), *bytes).ok());
  const auto race =
      runtime_->race({{"original", file("small.onnx")}, {"fast", file("model.onnx"), file(kLibraryFile)}}, terms_);
  ASSERT_TRUE(race.ok()) << race.error().message;
  for (const auto& outputs : race->cases.at("fast")) {
    for (const Difference& one : outputs) EXPECT_TRUE(one.within()) << one.output << ": " << one.max_error;
  }
}

TEST_F(WholeModels, KernelsPutBackGiveTheSameOutputs) {
  ASSERT_NO_FATAL_FAILURE(put_together());
  const ModelVersion fast{"fast", file("model.onnx"), file(kLibraryFile)};
  const auto race = runtime_->race({{"original", file("small.onnx")}, fast}, terms_);
  ASSERT_TRUE(race.ok()) << race.error().message;
  EXPECT_GE(race->times_ns.at("fast").size(), 8u);
  ASSERT_EQ(race->cases.at("fast").size(), 3u);
  for (const auto& outputs : race->cases.at("fast")) {
    ASSERT_EQ(outputs.size(), 2u);
    for (const Difference& one : outputs) {
      EXPECT_TRUE(one.within()) << one.output << ": " << one.max_error << " of " << one.allowed() << " " << one.problem;
      EXPECT_GT(one.largest, 0);
    }
  }

  // Other shapes than those that the kernels were made for are refused by name.
  RunTerms other = terms_;
  other.inputs[0].second.shape[0] = 3;
  const auto refused = runtime_->race({fast}, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("nvalid dimensions for input: x"), std::string::npos)
      << refused.error().message;

  // The examples that are written beside it run: in Python, and in C with the wheel's own library.
  const std::string python = std::getenv("KW_TEST_PYTHON"), examples = KW_SOURCE_DIR "/kernels/models/";
  const std::string command =
      "cd " + folder_.path().string() + " && cp " + examples + "run.* . && " + python + " run.py > py.txt 2>&1 && " +
      "cc -O2 -Wall -Werror run.c -o run -ldl && ./run $(" + python +
      " -c 'import onnxruntime, glob; "
      "print(glob.glob(onnxruntime.__path__[0] + \"/capi/libonnxruntime.so*\")[0])') > c.txt 2>&1";
  const auto code = run_program({"sh", "-c", command}, file("examples.log"), false, std::chrono::seconds(120));
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(*code, 0);
  const auto said_in_python = read_file(file("py.txt")), said_in_c = read_file(file("c.txt"));
  ASSERT_TRUE(said_in_python.ok() && said_in_c.ok());
  EXPECT_NE(said_in_python->find("y float32 [2, 8, 12, 12]"), std::string::npos) << *said_in_python;
  EXPECT_NE(said_in_c->find("y: 2304 elements"), std::string::npos) << *said_in_c;
}

TEST_F(WholeModels, AWrongKernelIsSeenInTheOutputs) {
  const auto times = where_time_goes(*model_, *runtime_, terms_, kDevice);
  ASSERT_TRUE(times.ok());
  auto plan = plan_of(*model_, *times, kDevice, 600);
  ASSERT_TRUE(plan.ok());
  std::erase_if(plan->kinds, [](const GroupKind& kind) { return !kind.op.starts_with("MatMul"); });
  ASSERT_EQ(plan->kinds.size(), 1u);
  std::vector<LibraryKernel> kernels = first_kernels(*plan);
  kernels[0].source.text =
      "#include <kernelwright.h>\nKW_KERNEL(call) {\n  auto y = call.output<float>(0);\n"
      "  for (int64_t i = 0; i < y.count(); ++i) y[i] = 0.25f;\n}\n";
  ASSERT_TRUE(write_library(file("library"), kernels, "kernelwright.small", kDevice).ok());
  const auto bytes = model_with(*model_, plan->kinds, all_of(*plan), "kernelwright.small");
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(write_file(file("wrong.onnx"), *bytes).ok());
  const auto race = runtime_->race(
      {{"original", file("small.onnx")}, {"wrong", file("wrong.onnx"), file("library") / kLibraryFile}}, terms_, 1);
  ASSERT_TRUE(race.ok()) << race.error().message;
  EXPECT_TRUE(race->cases.at("wrong")[0][0].within());   // y is the runtime's own
  EXPECT_FALSE(race->cases.at("wrong")[0][1].within());  // z is not
}

TEST_F(WholeModels, InputsOfTheUserAreCheckedByName) {
  ASSERT_TRUE(write_file(file("inputs.npz"), "no archive").ok());
  terms_.given = file("inputs.npz");
  const auto race = runtime_->race({{"original", file("small.onnx")}}, terms_);
  ASSERT_FALSE(race.ok());
  EXPECT_NE(race.error().message.find("inputs.npz: is not an .npz file"), std::string::npos) << race.error().message;
}

// One that nobody writes to would be waited for until the runtime's time is over.
TEST_F(WholeModels, TakesInputsFromRegularFilesOnly) {
  ASSERT_EQ(::mkfifo(file("fifo.npz").c_str(), 0600), 0);
  const auto given = inputs_file(file("fifo.npz").string());
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().message, file("fifo.npz").string() + ": is a FIFO, not a file");
}

// 64 MiB of zeros are some kilobytes of an archive.
TEST_F(WholeModels, UnpacksNoMoreThanAnInputTakes) {
  const std::string name = terms_.inputs[0].first;
  const std::string make =
      fmt::format("'{}' -c 'import numpy; numpy.savez_compressed(\"{}\", **{{\"{}\": numpy.zeros(1 << 24, \"f4\")}})'",
                  std::getenv("KW_TEST_PYTHON"), file("large.npz").string(), name);
  ASSERT_EQ(std::system(make.c_str()), 0);
  terms_.given = file("large.npz");
  const auto race = runtime_->race({{"original", file("small.onnx")}}, terms_);
  ASSERT_FALSE(race.ok());
  EXPECT_NE(race.error().message.find(fmt::format("'{}' has 67108992 bytes, and the model's input ", name)),
            std::string::npos)
      << race.error().message;
}

// A runtime that says what it was started with.
TEST(WholeModelsRuntime, StartsWithLittleOfTheEnvironmentAndWithLimits) {
  const ScratchFolder folder;
  const ScratchVariable secret("PIP_INDEX_URL", "secret");
  const auto program = folder.path() / "python";
  ASSERT_TRUE(
      write_file(
          program,
          "#!/bin/sh\nprintf '{\"error\": \"given %s, memory %s\"}' \"$PIP_INDEX_URL\" \"$(ulimit -d)\" > \"$5\"\n")
          .ok());
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
  rival.own = rivals::OwnPython{.program = program.string(), .version = "of the tests", .path = ""};
  const auto recorded = Runtime::open(rival)->record("model.onnx", {}, folder.path());
  ASSERT_FALSE(recorded.ok());
  EXPECT_TRUE(recorded.error().message.starts_with("given , memory ")) << recorded.error().message;
  EXPECT_EQ(recorded.error().message.find("unlimited"), std::string::npos) << recorded.error().message;
}

// What an older ONNX Runtime would be for the library: it knows the first version of the interface alone.
namespace old_runtime {

std::string said;

void* status(int, const char* message) {
  said = message;
  return &said;
}
const void* const kFunctions[] = {reinterpret_cast<const void*>(&status)};
const void* api(std::uint32_t version) { return version == 1 ? kFunctions : nullptr; }
const char* version() { return "1.9.0"; }
struct {
  const void* (*api)(std::uint32_t);
  const char* (*version)();
} base = {api, version};

}  // namespace old_runtime

TEST_F(WholeModels, AnOlderRuntimeIsToldWhichOneIsNeeded) {
  const Status built = write_library(file("library"), {}, "kernelwright.none", kDevice);
  ASSERT_TRUE(built.ok()) << built.error().message;
  void* library = ::dlopen((file("library") / kLibraryFile).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto enter = reinterpret_cast<void* (*)(void*, const void*)>(::dlsym(library, "RegisterCustomOps"));
  ASSERT_NE(enter, nullptr);
  EXPECT_EQ(enter(nullptr, &old_runtime::base), &old_runtime::said);
  EXPECT_NE(old_runtime::said.find("needs ONNX Runtime 1.16 or later, and this is 1.9.0"), std::string::npos)
      << old_runtime::said;
  // Nothing else is visible: two libraries do not meet.
  EXPECT_EQ(::dlsym(library, "kw_run"), nullptr);
  ::dlclose(library);
}

}  // namespace
}  // namespace kw::models
