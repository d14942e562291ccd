#include "ops/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/draw.h"

namespace kw::ops {
namespace {

// One node over square matrices.
Task task_of(const std::string& op, const std::vector<std::string>& inputs) {
  Task task;
  task.name = "t";
  for (const std::string& name : inputs) {
    Value value{.name = name, .lengths = {}};
    value.lengths = {{16, ""}, {16, ""}};
    task.values.push_back(value);
  }
  task.nodes = {{.op = op, .attributes = {}, .inputs = inputs, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  return task;
}

// The powers of two that some draws of the first input have.
std::set<int> powers_of(const Task& task) {
  const auto graph = resolve(task);
  EXPECT_TRUE(graph.ok());
  std::set<int> powers;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Tensor input = draw_inputs(*graph, InputClass::wide, seed)[0];
    for (const float x : input.as<float>()) {
      if (x != 0) powers.insert(std::ilogb(x));
    }
  }
  return powers;
}

TEST(Reach, IsTheWholeTypeForFunctionsAndMoves) {
  for (const char* op : {"Tanh", "Relu", "Transpose"}) {
    const std::set<int> powers = powers_of(task_of(op, {"x"}));
    EXPECT_GE(powers.size(), 270u) << op;
    EXPECT_EQ(*powers.begin(), -149) << op;
    EXPECT_GE(*powers.rbegin(), 125) << op;
  }
}

TEST(Reach, OfOneInputIsNearlyTheWholeTypeWhereTheResultIsProportionalToIt) {
  const std::set<int> powers = powers_of(task_of("MatMul", {"x", "w"}));
  EXPECT_LE(*powers.begin(), -145);
  EXPECT_GE(*powers.rbegin(), 90);
  EXPECT_GE(powers.size(), 230u);
}

// A few elements among typical ones may be of any size where all of them may not.
TEST(Reach, OfAFewElementsIsNearlyTheWholeTypeInAChain) {
  Task task = task_of("MatMul", {"x", "w"});
  task.nodes.push_back({.op = "Relu", .attributes = {}, .inputs = {"y"}, .outputs = {"z"}});
  task.nodes.push_back({.op = "MatMul", .attributes = {}, .inputs = {"z", "w"}, .outputs = {"v"}});
  task.outputs = {{"v", std::nullopt, {}}};
  const std::set<int> powers = powers_of(task);
  EXPECT_LE(*powers.begin(), -145);
  EXPECT_GE(*powers.rbegin(), 95);
  EXPECT_GE(powers.size(), 235u);
}

// Draws in a row take turns, so that some dozen have every power of two that an operator can take.
TEST(Reach, OfDrawsInARowLeavesHardlyAnyPowerOut) {
  const Task task = task_of("MatMul", {"x", "w"});
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  std::size_t least = 1000;
  for (std::uint64_t round = 0; round < 10; ++round) {
    std::set<int> powers;
    for (std::uint64_t turn = 0; turn < 40; ++turn) {
      const Tensor input = draw_inputs(*graph, InputClass::wide, 1000 * round + turn, {.turn = 40 * round + turn})[0];
      for (const float x : input.as<float>()) {
        if (x != 0) powers.insert(std::ilogb(x));
      }
    }
    least = std::min(least, powers.size());
  }
  EXPECT_GE(least, 255u) << "of 277";
}

// Clip says nothing of NaN, so that nothing before it may bring one.
TEST(Patterns, HaveNoNanWhereALaterOperatorSaysNothingOfIt) {
  Task task = task_of("Add", {"x", "bias"});
  EXPECT_TRUE(patterns_of(*resolve(task)).nans);
  task.nodes.push_back({.op = "Clip", .attributes = {}, .inputs = {"y"}, .outputs = {"z"}});
  task.outputs = {{"z", std::nullopt, {}}};
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const Tensor& input : draw_inputs(*graph, InputClass::special, seed)) {
      for (const float x : input.as<float>()) ASSERT_FALSE(std::isnan(x));
    }
  }
}

// Right whatever the order of additions: no sum of the largest terms leaves the type.
TEST(Reach, NeverOverflowsWhereTheResultIsProportionalToAnInput) {
  const Task task = task_of("MatMul", {"x", "w"});
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const WideTensor& output : *evaluate(*graph, draw_inputs(*graph, InputClass::wide, seed))) {
      for (const double value : output.reals) ASSERT_LT(std::fabs(value), 0x1p127);
    }
  }
}

}  // namespace
}  // namespace kw::ops
