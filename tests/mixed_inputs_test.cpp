#include "judge/mixed_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "suites/catalog.h"

namespace kw::judge {
namespace {

// A convolution with few windows, of other lengths each time.
ops::Graph convolution(Task& task, int variant) {
  task = *suites::find_task("Dense_Convolution_2D");
  task.lengths = {{"N", 1}, {"C", 2 + variant % 3}, {"H", 3 + variant % 2}, {"W", 3}, {"M", 2}};
  return *ops::resolve(task);
}

// Of two far-out inputs the products would overflow in float32: no order of summation would be right.
TEST(MixedInputs, KeepSumsOfProductsInRange) {
  Task tasks[2];
  Tensor last;
  int mixed = 0;
  for (int i = 0; i < 400; ++i) {
    const ops::Graph graph = convolution(tasks[i % 2], i);
    std::vector<Tensor> inputs = ops::draw_inputs(graph, ops::InputClass::wide, static_cast<std::uint64_t>(i));
    if (i > 0) mixed += begin_as_the_last(graph, ops::InputClass::wide, last, inputs[0]);
    last = inputs[0];
    const auto expected = ops::evaluate(graph, inputs);
    ASSERT_TRUE(expected.ok());
    for (const double value : (*expected)[0].reals) ASSERT_LT(std::fabs(value), 1e38) << "case " << i;
  }
  EXPECT_GT(mixed, 50) << "it still happens";
}

TEST(MixedInputs, LeaveTheEndAlone) {
  Task task = *suites::find_task("Relu");
  for (auto& [name, length] : task.lengths) length = 4;
  const ops::Graph graph = *ops::resolve(task);
  const std::vector<Tensor> last = ops::draw_inputs(graph, ops::InputClass::wide, 1);
  std::vector<Tensor> now = ops::draw_inputs(graph, ops::InputClass::wide, 2);
  const float end = now[0].as<float>().back();
  EXPECT_TRUE(begin_as_the_last(graph, ops::InputClass::wide, last[0], now[0])) << "one element meets no other";
  EXPECT_EQ(now[0].as<float>().front(), last[0].as<float>().front());
  EXPECT_EQ(now[0].as<float>().back(), end);
}

TEST(AlikeInputs, AreLikeTheCallBeforeInEachOfTheWays) {
  Task task = *suites::find_task("Add_residual");
  for (auto& [name, length] : task.lengths) length = 6;
  const ops::Graph graph = *ops::resolve(task);
  const std::vector<bool> constant(graph.inputs.size(), false);
  Random random(3);
  const std::vector<Tensor> before = ops::draw_inputs(graph, ops::InputClass::typical, 1);
  const auto a = before[0].as<float>(), b = before[1].as<float>();
  int same_first = 0, same_second = 0, one_differs = 0, doubled = 0, negated = 0, exchanged = 0, sorted_alike = 0;
  const auto differing = [](auto one, auto other) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < one.size(); ++i) count += one[i] != other[i];
    return count;
  };
  for (std::size_t way = 0; way < kWaysAlike; ++way) {
    std::vector<Tensor> now = ops::draw_inputs(graph, ops::InputClass::typical, 2);
    make_alike(graph, constant, before, way, now, random);
    const auto x = now[0].as<float>(), y = now[1].as<float>();
    same_first += differing(a, x) == 0;
    same_second += differing(b, y) == 0;
    one_differs += differing(a, x) == 1 && differing(b, y) == 0;
    doubled += std::ranges::equal(x, a, [](float p, float q) { return p == 2 * q; });
    negated += std::ranges::equal(x, a, [](float p, float q) { return p == -q; });
    exchanged += differing(a, y) == 0 && differing(b, x) == 0;
    std::vector<float> p(a.begin(), a.end()), q(x.begin(), x.end());
    std::ranges::sort(p);
    std::ranges::sort(q);
    sorted_alike += p == q && differing(a, x) > 0;
  }
  EXPECT_EQ(same_first, 1);
  EXPECT_EQ(same_second, 7) << "all ways but two";
  EXPECT_EQ(one_differs, 1);
  EXPECT_EQ(doubled, 1);
  EXPECT_EQ(negated, 1);
  EXPECT_EQ(exchanged, 1);
  EXPECT_EQ(sorted_alike, 1) << "turned round";
}

}  // namespace
}  // namespace kw::judge
