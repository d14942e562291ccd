#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

TEST(Activation, ThresholdsBelongToTheZeroSide) {
  EXPECT_EQ(numbers("ThresholdedRelu", on(tensor_of({0.5, 1, 2}))), (Numbers{0, 0, 2}));
  EXPECT_EQ(numbers("Shrink", on(tensor_of({-0.5, 0.5, -2, 2})).attribute("bias", 1.5)), (Numbers{0, 0, -0.5, 0.5}));
}

// max(x, 0) of NaN is the one or the other, by which of them is compared with which.
TEST(Activation, SaysNothingOfNaNWhereTheOperatorDoesNot) {
  const auto y = answer("Relu", on(tensor_of({NAN, -2, 3})));
  EXPECT_TRUE(compare(y, tensor_of({NAN, 0, 3})).right());
  EXPECT_TRUE(compare(y, tensor_of({0, 0, 3})).right());
  EXPECT_FALSE(compare(y, tensor_of({NAN, NAN, 3})).right());
  EXPECT_TRUE(answer("Relu", on(tensor_of({-2, 3}))).exact());
  const auto cut = answer("Clip", on(tensor_of({NAN, 2}), Tensor::scalar(-1), Tensor::scalar(1)));
  EXPECT_TRUE(compare(cut, tensor_of({NAN, 1})).right());
  EXPECT_FALSE(compare(cut, tensor_of({NAN, 2})).right());
}

TEST(Activation, ShrinkOfIntegersCutsTheFraction) {
  const auto y = answer("Shrink", on(Tensor::of_integers({-5, 0, 5}, DType::int32)).attribute("bias", 1.5));
  EXPECT_EQ(y.integers, (Integers{-3, 0, 3}));
}

TEST(Activation, SlopesBroadcastToXAndNotXToSlopes) {
  const Tensor x = tensor_of({-1, -2, 3, -4}, {2, 2});
  EXPECT_EQ(numbers("PRelu", on(x, tensor_of({10, 100}))), (Numbers{-10, -200, 3, -400}));
  EXPECT_TRUE(refused("PRelu", on(tensor_of({-1, -2}), x)));
}

TEST(Activation, LargeInputsDoNotOverflow) {
  EXPECT_EQ(numbers("Softplus", on(tensor_of({1000}))).at(0), 1000);
  EXPECT_EQ(numbers("Mish", on(tensor_of({1000}))).at(0), 1000);
  EXPECT_EQ(numbers("Sigmoid", on(tensor_of({-1000, 1000}))), (Numbers{0, 1}));
}

TEST(Activation, HardSigmoidIsExactWhereItIsCut) {
  const auto y = answer("HardSigmoid", on(tensor_of({-10, 0, 10})));
  EXPECT_EQ(y.reals, (Numbers{0, 0.5, 1}));
  EXPECT_EQ(y.slack[0], 0);
  EXPECT_GT(y.slack[1], 0);
  EXPECT_EQ(y.slack[2], 0);
}

TEST(Activation, ExponentialUnitsAcceptTheFormulaThroughOneButNotHalfPrecision) {
  const float x = -0.003f;
  const auto y = answer("Elu", on(tensor_of({x})));
  EXPECT_TRUE(compare(y, tensor_of({std::exp(x) - 1.0f})).right());
  EXPECT_FALSE(compare(y, tensor_of({to_double(half_from(std::expm1(x)))})).right());
}

TEST(Activation, GeluHasAnExactAndATanhForm) {
  EXPECT_NEAR(numbers("Gelu", on(tensor_of({1}))).at(0), 0.8413447460685429, 1e-12);
  EXPECT_NEAR(numbers("Gelu", on(tensor_of({1})).attribute("approximate", "tanh")).at(0), 0.8411919906, 1e-9);
}

TEST(Activation, CeluRefusesToDivideByZero) {
  EXPECT_TRUE(refused("Celu", on(tensor_of({1})).attribute("alpha", 0.0)));
  EXPECT_NEAR(numbers("Celu", on(tensor_of({-2})).attribute("alpha", 2.0)).at(0), 2 * std::expm1(-1.0), 1e-15);
}

}  // namespace
}  // namespace kw::ops
