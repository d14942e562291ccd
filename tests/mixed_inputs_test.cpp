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
  const ops::WideTensor answer = (*ops::evaluate(graph, before))[0];
  int fed_back = 0, nearly = 0, in_order = 0, plain = 0;
  int same_first = 0, same_second = 0, one_differs = 0, doubled = 0, negated = 0, exchanged = 0, sorted_alike = 0;
  const auto differing = [](auto one, auto other) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < one.size(); ++i) count += one[i] != other[i];
    return count;
  };
  for (std::size_t way = 0; way < kWaysAlike; ++way) {
    std::vector<Tensor> now = ops::draw_inputs(graph, ops::InputClass::typical, 2);
    make_alike(graph, constant, before, &answer, static_cast<Way>(way), now, random);
    const auto x = now[0].as<float>(), y = now[1].as<float>();
    same_first += differing(a, x) == 0;
    same_second += differing(b, y) == 0;
    one_differs += differing(a, x) == 1 && differing(b, y) == 0;
    doubled += std::ranges::equal(x, a, [](float p, float q) { return p == 2 * q; });
    negated += std::ranges::equal(x, a, [](float p, float q) { return p == -q; });
    fed_back += std::ranges::equal(x, answer.reals, [](float p, double q) { return p == static_cast<float>(q); });
    nearly += differing(a, x) > a.size() / 2 &&
              std::ranges::equal(x, a, [](float p, float q) { return std::fabs(p - q) <= 1e-3F * std::fabs(q); });
    in_order += std::ranges::is_sorted(x) && x.front() < x.back();
    plain += std::ranges::all_of(x, [&](float p) { return p == x[0]; });
    exchanged += differing(a, y) == 0 && differing(b, x) == 0;
    std::vector<float> p(a.begin(), a.end()), q(x.begin(), x.end());
    std::ranges::sort(p);
    std::ranges::sort(q);
    sorted_alike += p == q && differing(a, x) > 0;
  }
  EXPECT_EQ(same_first, 1);
  EXPECT_EQ(same_second, 10) << "all ways but two";
  EXPECT_EQ(one_differs, 1);
  EXPECT_EQ(doubled, 1);
  EXPECT_EQ(negated, 1);
  EXPECT_EQ(exchanged, 1);
  EXPECT_EQ(sorted_alike, 2) << "turned round, and in order";
  EXPECT_EQ(in_order, 1);
  EXPECT_EQ(nearly, 1);
  EXPECT_EQ(fed_back, 1);
  EXPECT_EQ(plain, 1);
}

// A kernel that keeps weights by some of them must meet others that are nearly the same.
TEST(AlikeInputs, HaveWeightsThatDifferInTwoElementsOrInOneTensor) {
  Task task = *suites::find_task("LayerNorm");
  task.lengths = {{"N", 1}, {"C", 1}, {"H", 2}, {"W", 40}};
  const ops::Graph graph = *ops::resolve(task);
  const std::vector<bool> constant = {false, true, true};
  Random random(5);
  int two_elements = 0, one_tensor = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Tensor> before = ops::draw_inputs(graph, ops::InputClass::typical, 2 * seed);
    std::vector<Tensor> now = ops::draw_inputs(graph, ops::InputClass::typical, 2 * seed + 1);
    change_little(constant, seed, before, now, random);
    const auto differing = [&](std::size_t slot) {
      int count = 0;
      for (std::int64_t i = 0; i < now[slot].count(); ++i) count += now[slot].real(i) != before[slot].real(i);
      return count;
    };
    two_elements += differing(1) > 0 && differing(1) <= 2 && differing(2) > 0 && differing(2) <= 2;
    one_tensor += std::min(differing(1), differing(2)) == 0 && std::max(differing(1), differing(2)) > 30;
  }
  EXPECT_EQ(two_elements, 10);
  EXPECT_EQ(one_tensor, 10);
}

TEST(AlikeInputs, HaveWeightsAsTheyAreBeforeAnythingIsLearnt) {
  Task task = *suites::find_task("LayerNorm");
  task.lengths = {{"N", 1}, {"C", 1}, {"H", 2}, {"W", 6}};
  const ops::Graph graph = *ops::resolve(task);
  Random random(5);
  const auto all = [&](std::size_t crowd, std::size_t slot, float wanted) {
    const std::vector<Tensor> weights = draw_weights(graph, crowd, 1, random);
    return std::ranges::all_of(weights[slot].as<float>(), [&](float value) { return value == wanted; });
  };
  EXPECT_FALSE(all(0, 1, 1));
  EXPECT_FALSE(all(kCrowdsAsDrawn, 1, 1)) << "as they are drawn";
  EXPECT_TRUE(all(1, 1, 1)) << "scales";
  EXPECT_TRUE(all(1, 2, 0)) << "shifts";
}

// Two of four zero, all equal, only the middle of a filter, -1, 0 and 1: each is there in a round of turns.
TEST(AlikeInputs, HaveFiltersOfEachKind) {
  Task task = *suites::find_task("Dense_Convolution_2D");
  task.lengths = {{"N", 1}, {"C", 2}, {"H", 5}, {"W", 5}, {"M", 2}};
  const ops::Graph graph = *ops::resolve(task);
  Random random(7);
  int equal = 0, two_of_four = 0, middle = 0, ternary = 0;
  for (std::size_t turn = 0; turn < 9; ++turn) {
    std::vector<Tensor> drawn = ops::draw_inputs(graph, ops::InputClass::typical, turn);
    const auto as_drawn = [&](std::size_t i) { return drawn[i].real(0); };
    const double first = as_drawn(0);
    make_weights_plain(graph, turn, drawn, random);
    EXPECT_EQ(as_drawn(0), first) << "an input is none";
    const Shape& shape = drawn[1].shape();
    const auto w = drawn[1].as<float>();
    const auto taps = static_cast<std::size_t>(shape[2] * shape[3]), at = taps / 2;
    const auto each = [&](auto&& holds) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        if (!holds(i)) return false;
      }
      return true;
    };
    equal += each([&](std::size_t i) { return w[i] == w[0] && w[i] != 0; });
    two_of_four += each([&](std::size_t i) { return i % 4 == 0 ? w[i] != 0 : i % 4 != 0; }) &&
                   2 * std::ranges::count(w, 0.0F) >= std::ssize(w) - 4 && std::ranges::count(w, 0.0F) < std::ssize(w);
    middle += each([&](std::size_t i) { return (i % taps == at) == (w[i] != 0); });
    ternary += each([&](std::size_t i) { return w[i] == 0 || std::fabs(w[i]) == 1; }) &&
               std::ranges::count(w, 0.0F) > 0 && std::ranges::count(w, 0.0F) < std::ssize(w);
  }
  EXPECT_GE(equal, 1);
  EXPECT_GE(two_of_four, 1);
  EXPECT_GE(middle, 1);
  EXPECT_GE(ternary, 1);
}

}  // namespace
}  // namespace kw::judge
