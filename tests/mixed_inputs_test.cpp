#include "judge/mixed_inputs.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace kw::judge
