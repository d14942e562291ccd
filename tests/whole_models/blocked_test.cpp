// Kernels of whole graphs in blocks of channels: built, run and held to the reference, and what is planned for them.
#define KW_ONLY_C  // its C++ layer has names of ours
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <kernelwright.h>

#include <cmath>
#include <map>
#include <thread>

#include "../../kernels/models/crew.h"
#include "base/files.h"
#include "base/process.h"
#include "base/scratch.h"
#include "compose/blocked_graph.h"
#include "compose/blocked_plan.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "suites/suite.h"
#include "targets/target.h"

namespace kw::compose {
namespace {

// Everything that has such a form, hung together: an input in planes, minimal filtering, residuals, gates, parts of
// concatenations that lie in them and others that are copied, pools, a transposed convolution.
constexpr char kNetwork[] = R"TOML(
suite = "blocked"
about = "a network for tests"

[[task]]
name = "network"
category = "Network"
inputs = ["x: float32[2, 3, 23, 37]"]
weights = [
  "w1: float32[32, 3, 3, 3] normal(0, 0.2)", "b1: float32[32]",
  "w2: float32[16, 16, 3, 3] normal(0, 0.1)",
  "w3: float32[24, 48, 1, 1] normal(0, 0.2)", "b3: float32[24]",
  "w4: float32[24, 1, 5, 5] normal(0, 0.2)",
  "w5: float32[8, 24, 1, 1] normal(0, 0.3)", "w6: float32[24, 8, 1, 1] normal(0, 0.3)", "b6: float32[24]",
  "w7: float32[40, 24, 3, 3] normal(0, 0.1)",
  "w8: float32[40, 20, 2, 2] normal(0, 0.1)", "b8: float32[20]",
  "gamma: float32[24] in [0.5, 1.5]", "beta: float32[24]", "mean: float32[24]", "variance: float32[24] in [0.5, 2]",
  "shift: float32[1, 20, 1, 1]"]
constants = ["three: float32 = 3", "zero: float32 = 0", "six: float32 = 6", "half: float32 = 0.5",
             "scales: float32[4] = [1, 1, 2, 2]"]
nodes = [
  "c1 = Conv<pads=[1, 1, 1, 1], strides=[1, 2]>(x, w1, b1)", "s1 = Sigmoid(c1)", "a1 = Mul(c1, s1)",
  "left, right = Split<axis=1>(a1)",
  "c2 = Conv<pads=[1, 1, 1, 1]>(right, w2)", "r2 = LeakyRelu<alpha=0.1>(c2)", "a2 = Add(right, r2)",
  "joined = Concat<axis=1>(left, right, a2)",
  "c3 = Conv(joined, w3, b3)",
  "n3 = BatchNormalization(c3, gamma, beta, mean, variance)",
  "p3 = Add(n3, three)", "q3 = Clip(p3, zero, six)", "m3 = Mul(n3, q3)", "a3 = Div(m3, six)",
  "c4 = Conv<group=24, pads=[2, 2, 2, 2], strides=[2, 1]>(a3, w4)", "a4 = Relu(c4)",
  "g1 = GlobalAveragePool(a4)", "g2 = Conv(g1, w5)", "g3 = Relu(g2)", "g4 = Conv(g3, w6, b6)",
  "g5 = HardSigmoid<alpha=0.2, beta=0.5>(g4)", "gated = Mul(a4, g5)", "twice = Add(a4, gated)",
  "c7 = Conv<pads=[2, 2, 2, 2], dilations=[2, 2]>(twice, w7)",
  "t8 = ConvTranspose<strides=[2, 2]>(c7, w8, b8)", "a8 = Mul(t8, shift)",
  "pooled = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(a8)",
  "meant = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(a8)",
  "less = Sub(meant, half)",
  "both = Concat<axis=1>(pooled, less)",
  "large = Resize<mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor'>(both, _, scales)",
  "small = AveragePool<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[3, 3]>(large)"]
outputs = ["a1", "a2", "twice", "large", "small"]
)TOML";

// A column of pixels, with kernels of 5 and 3 taps along it.
constexpr char kColumn[] = R"TOML(
suite = "column"
about = "a network for tests"

[[task]]
name = "column"
category = "Network"
inputs = ["x: float32[2, 64, 121, 1]"]
weights = ["w1: float32[72, 64, 5, 1] normal(0, 0.1)", "b1: float32[72]", "w2: float32[64, 72, 3, 1] normal(0, 0.1)"]
nodes = ["c1 = Conv<pads=[1, 0, 2, 0]>(x, w1, b1)", "s1 = Sigmoid(c1)", "a1 = Mul(c1, s1)", "c2 = Conv(a1, w2)",
         "p2 = MaxPool<kernel_shape=[3, 1], strides=[2, 1]>(c2)"]
outputs = ["a1", "p2"]
)TOML";

Task task_of(const char* text) {
  auto suite = suites::parse_suite(text, "blocked_test");
  EXPECT_TRUE(suite.ok()) << suite.error().message;
  return std::move(suite->tasks.front());
}

Task network() { return task_of(kNetwork); }

kw_tensor tensor_of(Tensor& tensor) {
  kw_tensor made{};
  made.data = tensor.bytes().data();
  made.rank = tensor.shape().rank();
  made.dtype = targets::contract_number(tensor.dtype());
  made.count = tensor.count();
  for (int i = 0; i < made.rank; ++i) made.shape[i] = tensor.shape()[i];
  return made;
}

// A kernel as a library that is loaded.
class Built {
 public:
  Built(const std::string& source, const std::string& processor) {
    const auto file = folder_.path() / "kernel.cpp", made = folder_.path() / "kernel.so";
    EXPECT_TRUE(write_file(file, source).ok());
    const auto code = run_program({"g++", "-std=c++20", "-O1", processor, "-shared", "-fPIC", "-fno-gnu-unique", "-I",
                                   KW_SOURCE_DIR "/include", file.string(), "-o", made.string()},
                                  folder_.path() / "log.txt", false, std::chrono::seconds(120));
    EXPECT_TRUE(code.ok() && *code == 0) << *read_file(folder_.path() / "log.txt");
    library_ = ::dlopen(made.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << ::dlerror();
  }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  ~Built() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  int call(const char* function, kw_call& call) const {
    return reinterpret_cast<int (*)(kw_call*)>(::dlsym(library_, function))(&call);
  }

 private:
  ScratchFolder folder_;
  void* library_ = nullptr;
};

// The same call with helpers, which may come at any time; `threads` of them are counted on.
int call_together(const Built& built, kw_call call, int threads) {
  kw_ort::Crew crew;
  call.scratch_used = 0;
  call.threads = threads;
  call.crew = &crew;
  call.parallel = [](const kw_call* of, std::int32_t count, void (*work)(void*, std::int32_t), void* data) {
    static_cast<kw_ort::Crew*>(of->crew)->run(count, work, data);
  };
  EXPECT_TRUE(crew.leads());
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back([&] { crew.help(); });
  const int code = built.call("kw_run", call);
  crew.end();
  return code;
}

// Every output within the slack that the reference carries through the graph, for typical inputs.
void expect_right(const std::string& processor, const Task& task = network()) {
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto kernel = blocked_kernel(*graph, "of a test");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const Built built(kernel->source, processor);
  for (const std::uint64_t seed : {1u, 2u}) {
    std::vector<Tensor> drawn = ops::draw_inputs(*graph, ops::InputClass::typical, seed), made;
    const auto right = ops::evaluate(*graph, drawn);
    ASSERT_TRUE(right.ok()) << right.error().message;
    std::vector<kw_tensor> inputs, outputs;
    for (Tensor& one : drawn) inputs.push_back(tensor_of(one));
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) made.emplace_back(graph->output_type(i));
    for (Tensor& one : made) outputs.push_back(tensor_of(one));
    // Memory as anything may have left it: NaN.
    std::vector<float> kept(static_cast<std::size_t>(kernel->kept_bytes / 4 + 32), std::nanf(""));
    std::vector<float> scratch(static_cast<std::size_t>(kernel->scratch_bytes / 4 + 32), std::nanf(""));
    kw_call call{};
    call.version = KW_CONTRACT_VERSION;
    call.threads = 1;
    call.input_count = static_cast<int32_t>(inputs.size());
    call.output_count = static_cast<int32_t>(outputs.size());
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.kept = reinterpret_cast<unsigned char*>(kept.data());
    call.kept_bytes = kernel->kept_bytes;
    call.scratch = reinterpret_cast<unsigned char*>(scratch.data());
    call.scratch_bytes = kernel->scratch_bytes;
    ASSERT_EQ(built.call("kw_prepare", call), KW_OK) << call.message;
    call.prepared = kept.data();
    ASSERT_EQ(built.call("kw_run", call), KW_OK) << call.message;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const ops::Comparison comparison = ops::compare((*right)[i], made[i]);
      EXPECT_TRUE(comparison.right()) << task.outputs[i].name << ": " << comparison.text((*right)[i]);
    }
    // Threads change nothing, not even the last bit.
    const std::vector<Tensor> alone = made;
    for (const int threads : {2, 3}) {
      for (Tensor& one : made) std::ranges::fill(one.bytes(), std::byte{0xff});
      ASSERT_EQ(call_together(built, call, threads), KW_OK);
      for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(made[i].bytes(), alone[i].bytes())) << task.outputs[i].name;
      }
    }
  }
}

TEST(Blocked, AWholeNetworkIsWithinItsBounds) { expect_right("-march=native"); }

TEST(Blocked, ConvolutionsAlongAColumnAreFilteredMinimally) {
  const Task task = task_of(kColumn);
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto plan = blocked_plan(*graph);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->steps[0].kind, "filter_line");
  EXPECT_EQ(plan->steps[1].kind, "filter_line");
  expect_right("-march=native", task);
}

#if defined(__x86_64__)
TEST(Blocked, NarrowVectorsUseTheSamePlan) { expect_right("-march=x86-64-v3"); }
#endif

TEST(Crew, EveryPieceIsDoneOnceHoweverManyHelpAndWhenever) {
  for (int helpers = 0; helpers < 4; ++helpers) {
    kw_ort::Crew crew;
    ASSERT_TRUE(crew.leads());
    ASSERT_FALSE(crew.leads());
    std::vector<std::jthread> all;
    for (int i = 0; i < helpers; ++i) {
      all.emplace_back([&, i] {
        std::this_thread::sleep_for(std::chrono::microseconds(200 * i));
        crew.help();
      });
    }
    for (int turn = 0; turn < 2000; ++turn) {
      std::vector<int> done(static_cast<std::size_t>(turn % 7), 0);
      crew.run(
          static_cast<int>(done.size()), [](void* data, std::int32_t i) { ++static_cast<int*>(data)[i]; }, done.data());
      for (const int times : done) ASSERT_EQ(times, 1);
    }
    crew.end();
    crew.help();  // one that comes after the end
    all.clear();
    EXPECT_LE(crew.helpers(), helpers);
  }
}

TEST(Blocked, WhatFollowsAStepIsTakenUpByIt) {
  const Task task = network();
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok());
  const auto plan = blocked_plan(*graph);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::map<std::string, int> kinds;
  for (const PlannedStep& step : plan->steps) ++kinds[step.kind];
  // Four products of the transposed one; n3 is folded into c3, so that its activation is the convolution's.
  EXPECT_EQ(kinds["convolve"], 5 + 4);
  EXPECT_EQ(kinds["filter_minimally"], 1);
  EXPECT_EQ(kinds["convolve_by_channel"], 1);
  EXPECT_EQ(kinds["place"], 1);  // 20 channels each: the second begins inside of a block
  EXPECT_EQ(kinds["copy"], 1);   // gated: a4 is read by others too
  const PlannedStep& normalized = plan->steps[2];
  ASSERT_EQ(normalized.recipes.size(), 1u);
  EXPECT_EQ(normalized.recipes[0].recipe, "normalize");
  ASSERT_EQ(normalized.finishes.size(), 1u);
  EXPECT_EQ(normalized.finishes[0].how.touch, "hard_swish");
}

TEST(Blocked, ImagesInUseAtOnceDoNotOverlap) {
  const Task task = network();
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok());
  const auto plan = blocked_plan(*graph);
  ASSERT_TRUE(plan.ok());
  const auto end_of = [](const PlannedImage& one) {
    const std::int64_t channels = one.planes ? one.channels : (one.channels + 15) / 16 * 16;
    return one.offset + channels * (one.height + 2 * one.margin) * (one.width + 2 * one.margin);
  };
  std::int64_t all = 0;
  for (const PlannedImage& a : plan->images) {
    if (a.inside_of >= 0) continue;
    EXPECT_LE(end_of(a), plan->memory_floats);
    all += end_of(a) - a.offset;
    for (const PlannedImage& b : plan->images) {
      if (&a == &b || b.inside_of >= 0 || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(end_of(a) <= b.offset || end_of(b) <= a.offset);
    }
  }
  EXPECT_LT(plan->memory_floats, all);  // some of it is used twice
}

TEST(Blocked, WhatHasNoSuchFormIsNamed) {
  auto suite = suites::parse_suite(
      "suite = 's'\nabout = 'a'\n[[task]]\nname = 'grouped'\ncategory = 'c'\ninputs = ['x: float32[1, 8, 4, 4]']\n"
      "weights = ['w: float32[8, 4, 3, 3]']\nnodes = ['y = Conv<group=2>(x, w)']\n",
      "test");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  const auto graph = ops::resolve(suite->tasks[0]);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(blocked_obstacle(*graph, graph->nodes[0]), "groups of several channels");
  const auto kernel = blocked_kernel(*graph, "");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().message, "Conv: groups of several channels");
}

}  // namespace
}  // namespace kw::compose
