#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

const Tensor kTwoByThree = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});

TEST(Reduction, TakesAxesAsInputOrAttribute) {
  EXPECT_EQ(numbers("ReduceSum", on(kTwoByThree, {0})), (Numbers{5, 7, 9}));
  EXPECT_EQ(numbers("ReduceSum", on(kTwoByThree, {-1})), (Numbers{6, 15}));
  EXPECT_EQ(numbers("ReduceSum", on(kTwoByThree).attribute("axes", Integers{1}), {.opset = 11}), (Numbers{6, 15}));
  EXPECT_EQ(numbers("ReduceMean", on(kTwoByThree).attribute("axes", Integers{-2})), (Numbers{2.5, 3.5, 4.5}));
  EXPECT_EQ(numbers("ReduceMean", on(kTwoByThree, {0}), {.opset = 18}), (Numbers{2.5, 3.5, 4.5}));
}

TEST(Reduction, KeepsReducedAxesUnlessToldNotTo) {
  EXPECT_EQ(shape_text("ReduceMax", on(kTwoByThree, {1})), "[2, 1]");
  EXPECT_EQ(shape_text("ReduceMax", on(kTwoByThree, {1}).attribute("keepdims", 0)), "[2]");
}

TEST(Reduction, GoesOverAllAxesWhereNoneIsNamed) {
  EXPECT_EQ(numbers("ReduceSum", on(kTwoByThree)), (Numbers{21}));
  EXPECT_EQ(shape_text("ReduceSum", on(kTwoByThree)), "[1, 1]");
  EXPECT_EQ(shape_text("ReduceSum", on(kTwoByThree, {}).attribute("keepdims", 0)), "[]");
}

TEST(Reduction, DoesAllButReduceWhenNoAxesMeanNone) {
  const Sample sample = on(tensor_of({2, -3}), {}).attribute("noop_with_empty_axes", 1);
  EXPECT_EQ(numbers("ReduceSum", sample), (Numbers{2, -3}));
  EXPECT_EQ(numbers("ReduceMean", sample), (Numbers{2, -3}));
  EXPECT_EQ(numbers("ReduceSumSquare", sample), (Numbers{4, 9}));
  EXPECT_EQ(numbers("ReduceL1", sample), (Numbers{2, 3}));
}

TEST(Reduction, RefusesAxesThatAreTwiceOrNotThere) {
  EXPECT_TRUE(refused("ReduceSum", on(kTwoByThree, {0, -2})));
  EXPECT_TRUE(refused("ReduceSum", on(kTwoByThree, {2})));
}

TEST(Reduction, OfNothingIsWhatItStartsFrom) {
  const Sample sample = on(zeros({0, 1}), {0});
  EXPECT_EQ(numbers("ReduceSum", sample), (Numbers{0}));
  EXPECT_EQ(numbers("ReduceProd", sample), (Numbers{1}));
  EXPECT_EQ(numbers("ReduceMax", sample), (Numbers{-INFINITY}));
  EXPECT_EQ(numbers("ReduceMin", sample), (Numbers{INFINITY}));
}

TEST(ReduceProd, MultipliesSigns) {
  EXPECT_EQ(numbers("ReduceProd", on(tensor_of({-1, 2, 3, -1, -2, 3, -1, 0, 3}, {3, 3}), {1}), {.opset = 18}),
            (Numbers{-6, 6, 0}));
}

TEST(ReduceL2, IsTheRootOfTheSumOfSquares) {
  EXPECT_EQ(numbers("ReduceL2", on(tensor_of({3, -4}))), (Numbers{5}));
  EXPECT_EQ(numbers("ReduceL2", on(zeros({2}))), (Numbers{0}));
}

TEST(ReduceLogSumExp, StaysFiniteForLargeElements) {
  EXPECT_EQ(numbers("ReduceLogSumExp", on(tensor_of({1000, 1000}))), (Numbers{1000 + std::log(2.0)}));
  EXPECT_EQ(numbers("ReduceLogSumExp", on(tensor_of({-1000, -1000}))), (Numbers{-1000 + std::log(2.0)}));
  EXPECT_EQ(numbers("ReduceLogSumExp", on(tensor_of({-INFINITY, 7}))), (Numbers{7}));
  EXPECT_EQ(numbers("ReduceLogSumExp", on(tensor_of({-INFINITY, -INFINITY}))), (Numbers{-INFINITY}));
}

TEST(Reduction, OfIntegersWrapsAndCutsTowardZero) {
  const auto int32 = [](const Numbers& values) { return on(tensor_of(values, {std::ssize(values)}, DType::int32)); };
  EXPECT_EQ(numbers("ReduceSum", int32({2147483647, 1})), (Numbers{-2147483648.0}));
  EXPECT_EQ(numbers("ReduceProd", int32({65536, 65536, -3})), (Numbers{0}));
  EXPECT_EQ(numbers("ReduceMean", int32({7, -2})), (Numbers{2}));
  EXPECT_EQ(numbers("ReduceMean", int32({-7, 2})), (Numbers{-2}));
  EXPECT_EQ(numbers("ReduceL1", int32({-3, 4})), (Numbers{7}));
  EXPECT_EQ(numbers("ReduceL2", int32({1, -2})), (Numbers{2}));
}

TEST(Reduction, FindsExtremesOfSmallTypes) {
  EXPECT_EQ(numbers("ReduceMax", on(tensor_of({-128, -5}, {2}, DType::int8))), (Numbers{-5}));
  EXPECT_EQ(numbers("ReduceMin", on(tensor_of({255, 200}, {2}, DType::uint8))), (Numbers{200}));
  EXPECT_EQ(numbers("ReduceMax", on(tensor_of({0, 1}, {2}, DType::boolean))), (Numbers{1}));
}

TEST(Reduction, ComparesIntegersOfSixtyFourBitsInTheOrderOfTheirType) {
  const Tensor huge = Tensor::of_integers({1, -1, -2}, DType::uint64);  // -1 is 2^64 - 1
  EXPECT_EQ(answer("ReduceMax", on(huge)).integers, (Integers{-1}));
  EXPECT_EQ(answer("ReduceMin", on(huge)).integers, (Integers{1}));
  EXPECT_EQ(answer("ReduceMin", on(Tensor::of_integers({-1, -2}, DType::uint64))).integers, (Integers{-2}));
  EXPECT_EQ(numbers("ArgMax", on(huge)), (Numbers{1}));
  EXPECT_EQ(numbers("ArgMax", on(Tensor::of_integers({1LL << 53, (1LL << 53) + 1}))), (Numbers{1}));
}

TEST(Reduction, HasSlackOnlyWhereItRounds) {
  EXPECT_TRUE(answer("ReduceMax", on(kTwoByThree)).exact());
  const double slack = answer("ReduceSum", on(kTwoByThree)).slack_at(0);
  EXPECT_GT(slack, 0);
  EXPECT_LT(slack, 1e-4);
}

// One element after the other in float32, behind a few that tower above all others: the others are lost, all of them.
TEST(Reduction, LetsThroughWhatASumLosesBesideAFewLargeTerms) {
  constexpr std::int64_t kCount = 50000;
  Tensor x(TensorType{DType::float32, Shape{kCount}});
  const auto values = x.as<float>();
  std::ranges::fill(values, 1.0F);
  values[0] = 1e4F;
  float sum = 0;
  for (const float value : values) sum += value * value;
  const WideTensor wanted = answer("ReduceSumSquare", on(x));
  const double lost = std::fabs(static_cast<double>(sum) - wanted.reals[0]);
  EXPECT_GT(lost, 40000);
  EXPECT_GE(wanted.slack_at(0), lost);
  EXPECT_LT(wanted.slack_at(0), 2 * lost) << "and no more than that";
  // Without such terms nothing more is let through.
  values[0] = 1;
  EXPECT_LT(answer("ReduceSumSquare", on(x)).slack_at(0), 10);
}

TEST(ArgMax, NamesTheFirstOfEqualElementsOrTheLastIfAsked) {
  const Tensor x = tensor_of({7, 1, 7, 0, 1, 7}, {2, 3});
  EXPECT_EQ(numbers("ArgMax", on(x).attribute("axis", 1)), (Numbers{0, 2}));
  EXPECT_EQ(numbers("ArgMax", on(x).attribute("axis", 1).attribute("select_last_index", 1)), (Numbers{2, 2}));
  EXPECT_EQ(numbers("ArgMin", on(x)), (Numbers{1, 0, 0}));
  EXPECT_EQ(numbers("ArgMin", on(x).attribute("select_last_index", 1)), (Numbers{1, 1, 1}));
}

TEST(ArgMax, KeepsTheAxisUnlessToldNotTo) {
  EXPECT_EQ(shape_text("ArgMax", on(kTwoByThree).attribute("axis", -1)), "[2, 1]");
  EXPECT_EQ(shape_text("ArgMax", on(kTwoByThree).attribute("axis", -1).attribute("keepdims", 0)), "[2]");
}

TEST(ArgMax, HasNoAnswerAlongAnEmptyAxis) {
  EXPECT_TRUE(refused("ArgMax", on(zeros({2, 0})).attribute("axis", 1)));
  EXPECT_EQ(shape_text("ArgMax", on(zeros({2, 0})).attribute("axis", 0)), "[1, 0]");
}

}  // namespace
}  // namespace kw::ops
