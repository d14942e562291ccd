#include "agents/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/scratch.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

// Kernels that are shown to authors are right themselves.
TEST(SlowExemplars, AreRight) {
  const auto all = all_exemplars();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GE(all->size(), 9u);
  std::map<std::string, judge::Judge> judges;
  judges.emplace(".cpp", *judge::Judge::open());
  judges.emplace(".cu", *judge::Judge::open("cuda:emulated"));
  for (const Exemplar& one : *all) {
    ASSERT_TRUE(judges.contains(one.file.extension())) << one.file;
    judge::Judge& judge = judges.at(one.file.extension());
    const auto task = suites::find_task(one.task, {});
    ASSERT_TRUE(task.ok()) << task.error().message;
    judge::Case asked;
    asked.task = &*task;
    asked.device = judge.device().name();
    asked.source = {"exemplar" + one.file.extension().string(), one.source};
    asked.timed = false;
    const auto inspected = judge.inspect(asked);
    ASSERT_TRUE(inspected.ok()) << inspected.error().message;
    EXPECT_TRUE(inspected->verdict.accepted()) << one.file << ": " << text_of(inspected->verdict.reason);
  }
}

TEST(Exemplars, AreNeverOfTheTask) {
  const std::vector<Exemplar> all = *all_exemplars();
  int found = 0;
  const suites::Suite suite = *suites::find_suite("mobilekernelbench");
  for (const Task& task : suite.tasks) {
    const Exemplar* one = exemplar_for(task, all);
    if (one == nullptr) continue;
    ++found;
    const Task other = *suites::find_task(one->task, {});
    for (const Node& node : task.nodes) {
      EXPECT_TRUE(std::ranges::none_of(other.nodes, [&](const Node& theirs) { return theirs.op == node.op; }))
          << task.name << " is shown " << one->task;
    }
  }
  EXPECT_GT(found, 180) << "nearly every task has one";
}

// As it was seen: who was asked for a CUDA kernel was shown one in C++, hints on vectors, and calls that a plan has
// not.
TEST(FactsOfATask, AreOfTheDevicesKindOfKernel) {
  for (const char* name : {"Softmax", "Gemm", "AveragePool_2d_strides", "Winograd_Convolution_2D_padding", "TopK"}) {
    const Task task = *suites::find_task(name, {});
    const auto facts = facts_of(task, *ops::resolve(task), {.device = "cuda:emulated", .from_nothing = true});
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts->at("form"), "cuda");
    EXPECT_NE(facts->at("exemplar").find("KW_PLAN"), std::string::npos) << name;
    EXPECT_NE(facts->at("hints"), "") << name;
    EXPECT_NE(facts->at("task").find("plan.input(0), float*"), std::string::npos) << facts->at("task");
    for (const char* place : {"task", "hints", "exemplar", "machine"})
      for (const char* cpu : {"KW_PREPARE", "call.input", "register tile"})
        EXPECT_EQ(facts->at(place).find(cpu), std::string::npos) << name << ", " << place << ": " << cpu;
    EXPECT_NE(facts->at("machine").find("emulated"), std::string::npos) << facts->at("machine");
    EXPECT_EQ(facts->at("parts"), "") << "they are for CPUs";
  }
}

TEST(FactsOfATask, TellTheMachineAndThePartsThatFit) {
  const Task task = *suites::find_task("Softmax", {});
  const auto facts = facts_of(task, *ops::resolve(task));
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_NE(facts->at("machine").find("registers"), std::string::npos) << facts->at("machine");
  EXPECT_NE(facts->at("parts").find("#include <kw/math_exp.h>"), std::string::npos) << facts->at("parts");
  EXPECT_NE(facts->at("parts").find("#include <kw/vector.h>"), std::string::npos);
  EXPECT_FALSE(facts->contains("sources")) << "no list of functions that nobody can open";
  EXPECT_FALSE(facts->contains("exemplar")) << "of a start with a kernel";
}

// As it was seen: of math_exp.h eight helpers were shown, and not exp.
TEST(PartsInAPrompt, AreWhatAKernelCallsWithItsSignature) {
  const Task task = *suites::find_task("Softmax", {});
  const std::string parts = facts_of(task, *ops::resolve(task))->at("parts");
  for (const char* wanted : {"V exp(V x)", "V load_some(const float* from, int64_t count, float rest = 0)",
                             "// The first `count` elements, all where there are more",
                             "Floats max(Floats a, Floats b)", "float sum(Floats value)"}) {
    EXPECT_NE(parts.find(wanted), std::string::npos) << wanted << "\n" << parts;
  }
  for (const char* helper : {"NearestWhole", "softmax_rows.h", "log_with_ends"})
    EXPECT_EQ(parts.find(helper), std::string::npos) << helper;
  EXPECT_LE(parts.size(), 3600u);
}

// As it was seen: our Softplus needs no logarithm, and a model's does.
TEST(PartsInAPrompt, AreAlsoWhatAnOperatorNeedsThatOurTechniqueDoesWithout) {
  const Task task = *suites::find_task("Softplus_2d", {});
  const std::string parts = facts_of(task, *ops::resolve(task))->at("parts");
  EXPECT_NE(parts.find("Floats log1p(Floats x)"), std::string::npos) << parts;
  EXPECT_EQ(parts.find("for: "), std::string::npos) << parts;
}

TEST(PartsInAPrompt, NameOnlyWhatTheirHeadersHave) {
  const auto parts = told_parts();
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_GE(parts->size(), 15u);
  for (const Part& part : *parts) {
    const auto text = text_of(part, 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_TRUE(part.names.empty() || text->find("\n  ") != std::string::npos) << *text;
  }
  const auto product = text_of(*std::ranges::find(*parts, "product.h", &Part::header), 1 << 20);
  EXPECT_NE(product->find("struct Left { const float* data; int64_t row, step; }"), std::string::npos) << *product;
  EXPECT_FALSE(text_of({.header = "vector.h", .names = {"no_such_name"}}, 1000).ok());
}

// As it was seen: a planner who never writes code was sent all signatures, a quarter of its prompt.
TEST(PartsInAPrompt, AreNamedToWhoPlans) {
  const Task task = *suites::find_task("LayerNorm_vision", {});
  const Facts facts = *facts_of(task, *ops::resolve(task));
  const std::string& named = facts.at("parts_named");
  EXPECT_NE(named.find("<kw/moments.h>: Mean and variance of a row in two passes. (RowMoments, moments_of_row"),
            std::string::npos)
      << named;
  EXPECT_EQ(named.find("const float*"), std::string::npos) << named;
  EXPECT_LT(3 * named.size(), facts.at("parts").size() * 2);
  const std::string asked = Prompts::open()->text("accelerator", facts);
  EXPECT_NE(asked.find("<kw/moments.h>"), std::string::npos);
  EXPECT_EQ(asked.find("RowMoments moments_of_row(const float* x"), std::string::npos);
}

TEST(FactsOfATask, ShowHintsForTheirOperatorsBesideThoseForTheirCategory) {
  const auto hints = [](const char* name) {
    const Task task = *suites::find_task(name, {});
    return facts_of(task, *ops::resolve(task), {.from_nothing = true})->at("hints");
  };
  EXPECT_NE(hints("TopK").find("lower bound of the k-th"), std::string::npos);
  EXPECT_NE(hints("TopK").find("longest runs"), std::string::npos) << "of its category";
  EXPECT_EQ(hints("DepthToSpace").find("k-th"), std::string::npos);
}

// As it was seen: the contract speaks of NaN and infinities, and a product by minimal filtering cannot keep them.
TEST(FactsOfATask, SayWhetherInputsHoldNaNAndInfinities) {
  const auto said = [](const char* name) {
    const Task task = *suites::find_task(name, {});
    return facts_of(task, *ops::resolve(task))->at("task");
  };
  EXPECT_NE(said("Relu").find("x may hold infinities, but no NaN"), std::string::npos) << said("Relu");
  EXPECT_NE(said("DepthToSpace").find("x may hold NaN and infinities"), std::string::npos) << said("DepthToSpace");
  const std::string convolution = said("Winograd_Convolution_2D_padding");
  EXPECT_NE(convolution.find("x holds neither NaN nor infinities"), std::string::npos) << convolution;
  EXPECT_EQ(convolution.find("w holds"), std::string::npos) << "weights are the task's";
}

TEST(FactsOfATask, SayWhichOutputsOfAnOperatorAreNotAskedFor) {
  const Task task = *suites::find_task("TopK", {});
  const std::string said = facts_of(task, *ops::resolve(task))->at("task");
  EXPECT_NE(said.find("indices is no output of the task: it need not be computed"), std::string::npos) << said;
  EXPECT_EQ(said.find("y is no output"), std::string::npos) << said;
}

TEST(FactsOfATask, HoldNoAdviceForAPerson) {
  const ScratchFolder nothing_measured;
  const ScratchVariable cache("XDG_CACHE_HOME", nothing_measured.path().string());
  const Task task = *suites::find_task("Softmax", {});
  const Facts facts = *facts_of(task, *ops::resolve(task));
  EXPECT_EQ(facts.at("task").find("kw doctor"), std::string::npos) << facts.at("task");
}

}  // namespace
}  // namespace kw::agents
