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
  const TimedAnswers answers({1e-3}, 2);
  const auto rival = answer(5), near = answer(5.01F), far = answer(5.1F);
  EXPECT_FALSE(answers.is_odd(near, &rival));
  EXPECT_TRUE(answers.is_odd(far, &rival));
  EXPECT_TRUE(answers.is_odd({}, &rival)) << "an answer that is missing";
}

TEST(TimedAnswers, AreVerifiedWhenOddAndAtTheBeginning) {
  Random random(1);
  TimedAnswers answers({1e-3}, 2);
  EXPECT_TRUE(answers.wants_reference(false, random));
  answers.verified(0.001);
  answers.verified(0.001);
  int chosen = 0;
  for (int i = 0; i < 1000; ++i) chosen += answers.wants_reference(false, random);
  EXPECT_GT(chosen, 50);
  EXPECT_LT(chosen, 200);
  EXPECT_TRUE(answers.wants_reference(true, random));
}

TEST(TimedAnswers, AreNotVerifiedByChanceWhenReferencesHaveTakenTheirShare) {
  Random random(1);
  TimedAnswers answers({1e-3}, 2);
  answers.verified(0.4);
  answers.verified(0.4);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(answers.wants_reference(false, random));
  EXPECT_TRUE(answers.wants_reference(true, random));
}

}  // namespace
}  // namespace kw::judge
