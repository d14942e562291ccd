#include "corpus/draw.h"

#include <gtest/gtest.h>

#include <set>

#include "corpus/structure.h"
#include "corpus/task_text.h"
#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw::corpus {
namespace {

std::string all_of(const DrawnKernels& drawn) {
  std::string text;
  for (const DrawnKernel& kernel : drawn.kernels)
    text += drawn.tasks[kernel.task].name + " " + kernel.technique + "\n" + kernel.source;
  return text;
}

TEST(DrawnKernels, AreTheSameForASeed) {
  const DrawnKernels first = *draw_kernels({.seed = 5, .count = 10});
  EXPECT_EQ(first.kernels.size(), 10u);
  EXPECT_EQ(all_of(first), all_of(*draw_kernels({.seed = 5, .count = 10})));
  EXPECT_NE(all_of(first), all_of(*draw_kernels({.seed = 6, .count = 10})));
  // A longer list begins with the shorter one.
  EXPECT_TRUE(all_of(*draw_kernels({.seed = 5, .count = 13})).starts_with(all_of(first)));
}

TEST(DrawnKernels, AreShortAndIncludePartsByName) {
  const DrawnKernels drawn = *draw_kernels({.seed = 1, .count = 16, .longest = 4000});
  for (const DrawnKernel& kernel : drawn.kernels) {
    EXPECT_LE(kernel.source.size(), 4000u);
    EXPECT_NE(kernel.source.find("KW_KERNEL("), std::string::npos);
    EXPECT_EQ(kernel.source.find("//"), std::string::npos) << kernel.source;
  }
}

TEST(DrawnKernels, OfGpusAreShortTooAndNeedNone) {
  const DrawnKernels drawn = *draw_kernels({.device = "cuda:emulated", .seed = 1, .count = 8, .longest = 5000});
  ASSERT_EQ(drawn.kernels.size(), 8u);
  for (const DrawnKernel& kernel : drawn.kernels) {
    EXPECT_NE(kernel.source.find("KW_PLAN("), std::string::npos);
    EXPECT_NE(kernel.source.find("__global__"), std::string::npos)
        << "a plan launches it by its name: " << kernel.source;
    EXPECT_NE(kernel.source.find("#include <kw/common.cuh>"), std::string::npos) << kernel.source;
  }
  EXPECT_LT(drawn.too_long, 8u);
}

TEST(DrawnKernels, BeginWithTheOperatorsThatAreAskedFor) {
  const DrawnKernels drawn = *draw_kernels({.seed = 2, .count = 6, .only = {"Relu"}});
  for (const Task& task : drawn.tasks) {
    const auto operators = operators_of(task);
    EXPECT_NE(std::ranges::find(operators, "Relu"), operators.end());
  }
  EXPECT_FALSE(draw_kernels({.only = {"Rleu"}}).ok());
  EXPECT_NE(draw_kernels({.device = "made_up"}).error().message.find("no techniques"), std::string::npos);
}

TEST(DrawnTasks, ResolveAndComeBackFromTheirText) {
  const TaskDraw draw = *TaskDraw::open(*suites::installed_suites());
  Random random(11);
  std::set<std::string> names, structures;
  int chains = 0;
  for (int i = 0; i < 60; ++i) {
    const auto task = draw.next(random);
    ASSERT_TRUE(task.ok()) << task.error().message;
    const std::string text = *text_of(*task);
    EXPECT_TRUE(ops::resolve(*task_of_text(text)).ok()) << text;
    names.insert(task->name);
    structures.insert(structure_of(*task));
    chains += task->nodes.size() > 1;
  }
  EXPECT_GT(names.size(), 55u);
  EXPECT_GT(structures.size(), 40u);
  EXPECT_GT(chains, 15);
}

TEST(Split, FollowsFromNamesAlone) {
  const auto task = [](const std::string& nodes) { return *task_of_text("input x: float32[8]\noutput y\n" + nodes); };
  const Task relu = task("node y = Relu(x)\n"), chain = task("node h = Relu(x)\nnode y = Exp(h)\n");
  EXPECT_EQ(structure_of(chain), "Relu(i);Exp(0)");
  EXPECT_EQ(operators_of(chain), (std::vector<std::string>{"Exp", "Relu"}));
  EXPECT_EQ(unseen_in(relu, {.operators = 0, .structures = 1}), "") << "one operator has no structure of its own";
  EXPECT_EQ(unseen_in(chain, {.operators = 0, .structures = 1}), "structure");
  EXPECT_EQ(unseen_in(chain, {.operators = 0, .structures = 0, .named = {"Exp"}}), "operator");
  EXPECT_EQ(unseen_in(relu, {.operators = 0, .structures = 0, .named = {"Exp"}}), "");
  // By chance about as many as asked for, and others for another seed.
  int first = 0, both = 0;
  for (const ops::Op& op : ops::all_ops()) {
    Task one = relu;
    one.nodes[0].op = op.name;
    const bool held = unseen_in(one, {.seed = 1, .operators = 0.2}) == "operator";
    first += held;
    both += held && unseen_in(one, {.seed = 2, .operators = 0.2}) == "operator";
  }
  EXPECT_GT(first, 0.1 * static_cast<double>(ops::all_ops().size()));
  EXPECT_LT(first, 0.3 * static_cast<double>(ops::all_ops().size()));
  EXPECT_LT(both, first);
}

}  // namespace
}  // namespace kw::corpus
