#include "ops/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/draw.h"
#include "suites/catalog.h"

namespace kw::ops {
namespace {

// The powers of two that some hundred draws of a task's first input have.
std::set<int> powers_of(const std::string& name) {
  Task task = *suites::find_task(name);
  for (auto& [ignored, length] : task.lengths) length = std::min<std::int64_t>(length, 48);
  const auto resolved = resolve(task);
  EXPECT_TRUE(resolved.ok()) << name;
  const Graph& graph = *resolved;
  std::set<int> powers;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Tensor input = draw_inputs(graph, InputClass::wide, seed)[0];
    for (const float x : input.as<float>()) {
      if (x != 0) powers.insert(std::ilogb(x));
    }
  }
  return powers;
}

TEST(Reach, IsTheWholeTypeForFunctionsAndMoves) {
  for (const char* name : {"Tanh", "Relu"}) {
    const std::set<int> powers = powers_of(name);
    EXPECT_GE(powers.size(), 270u) << name;
    EXPECT_EQ(*powers.begin(), -149) << name;
    EXPECT_GE(*powers.rbegin(), 125) << name;
  }
}

TEST(Reach, OfOneInputIsNearlyTheWholeTypeWhereTheResultIsProportionalToIt) {
  for (const char* name : {"MatMul_square", "Conv", "ReduceMean"}) {
    const std::set<int> powers = powers_of(name);
    EXPECT_LE(*powers.begin(), -140) << name;
    EXPECT_GE(*powers.rbegin(), 85) << name;
    EXPECT_GE(powers.size(), 215u) << name;
  }
}

// Right whatever the order of additions: no sum of the largest terms leaves the type.
TEST(Reach, NeverOverflowsWhereTheResultIsProportionalToAnInput) {
  for (const char* name : {"MatMul_square", "Conv", "ReduceMean", "LayerNorm"}) {
    Task task = *suites::find_task(name);
    for (auto& [ignored, length] : task.lengths) length = std::min<std::int64_t>(length, 24);
    const auto graph = resolve(task);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      for (const WideTensor& output : *evaluate(*graph, draw_inputs(*graph, InputClass::wide, seed))) {
        for (const double value : output.reals) ASSERT_LT(std::fabs(value), 0x1p126) << name;
      }
    }
  }
}

}  // namespace
}  // namespace kw::ops
