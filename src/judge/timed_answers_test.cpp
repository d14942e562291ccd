#include "judge/timed_answers.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

std::vector<Tensor> answer(float first) {
  std::vector<Tensor> outputs;
  outputs.emplace_back(DType::float32, Shape({2}));
  outputs[0].as<float>()[0] = first;
  outputs[0].as<float>()[1] = 1;
  return outputs;
}

TEST(TimedAnswers, AreOddWhereTheyDifferFromARivalsByMoreThanTwoRightOnesCan) {
  const TimedAnswers answers({{.floor = 1e-3}}, 2);
  const auto rival = answer(5), near = answer(5.003F), far = answer(5.1F);
  EXPECT_FALSE(answers.is_odd(near, &rival));
  EXPECT_TRUE(answers.is_odd(far, &rival));
  EXPECT_TRUE(answers.is_odd({}, &rival)) << "an answer that is missing";
}

TEST(TimedAnswers, AreHeldToABoundOfTheirOwnSize) {
  const TimedAnswers answers({{.share = 1e-3}}, 2);
  const auto large = answer(1000), small = answer(0.01F);
  EXPECT_FALSE(answers.is_odd(answer(1002), &large));
  EXPECT_TRUE(answers.is_odd(answer(0.0102F), &small)) << "what a large element may be off, a small one may not";
}

TEST(TimedAnswers, BecomeLessOddWhereOddOnesWereRight) {
  TimedAnswers answers({{.floor = 1e-3}}, 2);
  const auto rival = answer(5), off = answer(5.01F), far = answer(6);
  EXPECT_TRUE(answers.is_odd(off, &rival));
  for (int i = 0; i < 10; ++i) answers.was_right_though_odd();
  EXPECT_FALSE(answers.is_odd(off, &rival));
  EXPECT_TRUE(answers.is_odd(far, &rival));
}

TEST(TimedAnswers, AreChosenOverTheWholeRaceAlike) {
  Random random(1);
  std::vector<int> chosen(10);
  for (int i = 0; i < 300; ++i) {
    TimedAnswers answers({}, 2);
    for (int call = 0; call < 1000; ++call) {
      TimedAnswers::Kept* kept = answers.choose(random);
      if (kept != nullptr) kept->inputs = answer(static_cast<float>(call));
    }
    ASSERT_EQ(answers.kept().size(), 16u);
    for (const auto& kept : answers.kept()) ++chosen[static_cast<std::size_t>(kept.inputs[0].as<float>()[0] / 100)];
  }
  for (const int tenth : chosen) EXPECT_NEAR(tenth, 480, 110);
}

TEST(TimedAnswers, AreFewerWhereTheReferenceTakesLong) {
  Random random(1);
  TimedAnswers answers({}, 0.5);
  answers.verified(0.1);
  for (int i = 0; i < 100; ++i) answers.choose(random);
  EXPECT_EQ(answers.kept().size(), 5u);
}

TEST(BoundOf, IsNotBelowAnyElementsOwn) {
  ops::WideTensor expected(TensorType{DType::float32, Shape({4})});
  expected.reals = {0, 1, -100, 1000};
  expected.add_slack();
  expected.slack = {1e-7, 1e-6, 1e-4, 1e-3};
  const ElementBound bound = bound_of(expected);
  EXPECT_NEAR(bound.share, 1e-6, 1e-9);
  EXPECT_NEAR(bound.floor, 1e-7, 1e-9);
}

}  // namespace
}  // namespace kw::judge
