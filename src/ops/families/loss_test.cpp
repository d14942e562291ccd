#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

// Two samples, three classes, two places.
const Tensor kInput = tensor_of({1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2}, {2, 3, 2});
const Tensor kTarget = tensor_of({2, 1, 0, 2}, {2, 2}, DType::int64);
const Tensor kWeight = tensor_of({0.5, 0.25, 2});

TEST(NegativeLogLikelihoodLoss, PicksTheLabelsClassAtEveryPlace) {
  EXPECT_EQ(numbers("NegativeLogLikelihoodLoss", on(kInput, kTarget).attribute("reduction", "none")),
            (Numbers{-3, -2, -0.0, -2}));
}

TEST(NegativeLogLikelihoodLoss, DividesTheMeanByTheWeightsOfTheLabels) {
  EXPECT_EQ(numbers("NegativeLogLikelihoodLoss", on(kInput, kTarget, kWeight).attribute("reduction", "sum")),
            (Numbers{-10.5}));
  EXPECT_EQ(numbers("NegativeLogLikelihoodLoss", on(kInput, kTarget, kWeight).attribute("reduction", "mean")),
            (Numbers{-10.5 / 4.75}));
}

TEST(NegativeLogLikelihoodLoss, CountsIgnoredLabelsNeitherInTheSumNorInTheMean) {
  const Tensor target = tensor_of({2, -7, -7, 2}, {2, 2}, DType::int32);
  const Sample ignoring = on(kInput, target).attribute("reduction", "mean").attribute("ignore_index", -7);
  EXPECT_EQ(numbers("NegativeLogLikelihoodLoss", ignoring), (Numbers{-2.5}));
  EXPECT_TRUE(refused("NegativeLogLikelihoodLoss", on(kInput, target).attribute("reduction", "mean")));
}

TEST(SoftmaxCrossEntropyLoss, IsTheLossOfTheLogarithmOfTheSoftmaxAndGivesThat) {
  const Tensor scores = tensor_of({0, std::log(3.0)}, {1, 2});
  const Sample sample = on(scores, {1}).attribute("reduction", "none");
  const WideTensor loss = answer("SoftmaxCrossEntropyLoss", sample);
  expect_near(loss.reals, {-std::log(0.75)}, 1e-7);
  EXPECT_LT(loss.slack_at(0), 1e-5);
  expect_near(numbers("SoftmaxCrossEntropyLoss", sample, {.output = 1}), {std::log(0.25), std::log(0.75)}, 1e-7);
}

TEST(SoftmaxCrossEntropyLoss, RefusesLabelsOfAnotherShape) {
  EXPECT_TRUE(refused("SoftmaxCrossEntropyLoss", on(kInput, {0, 0})));
}

}  // namespace
}  // namespace kw::ops
