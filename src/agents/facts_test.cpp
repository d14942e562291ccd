#include "agents/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "suites/catalog.h"

namespace kw::agents {
namespace {

// Kernels that are shown to authors are right themselves.
TEST(SlowExemplars, AreRight) {
  const auto all = all_exemplars();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GE(all->size(), 5u);
  judge::Judge judge = *judge::Judge::open();
  for (const Exemplar& one : *all) {
    const auto task = suites::find_task(one.task, {});
    ASSERT_TRUE(task.ok()) << task.error().message;
    judge::Case asked;
    asked.task = &*task;
    asked.source = {"exemplar.cpp", one.source};
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

}  // namespace
}  // namespace kw::agents
