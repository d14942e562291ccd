#include "ops/reach.h"

#include <gtest/gtest.h>

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

// Right whatever the order of additions: no sum of the largest terms leaves the type.
TEST(Reach, NeverOverflowsWhereTheResultIsProportionalToAnInput) {
  const Task task = task_of("MatMul", {"x", "w"});
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const WideTensor& output : *evaluate(*graph, draw_inputs(*graph, InputClass::wide, seed))) {
      for (const double value : output.reals) ASSERT_LT(std::fabs(value), 0x1p126);
    }
  }
}

}  // namespace
}  // namespace kw::ops
