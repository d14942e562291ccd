#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

double at(const char* name, double x) { return numbers(name, on(tensor_of({x}))).at(0); }

TEST(Trigonometry, CountsAnglesInRadians) {
  EXPECT_EQ(numbers("Cos", on(tensor_of({0, -0.0}))), (Numbers{1, 1}));
  EXPECT_NEAR(at("Sin", M_PI / 6), 0.5, 1e-7);
  EXPECT_NEAR(at("Cos", M_PI), -1, 1e-7);
  EXPECT_NEAR(at("Tan", -M_PI / 4), -1, 1e-7);
}

TEST(Trigonometry, ReducesLargeAngles) {
  EXPECT_NEAR(at("Sin", 10000), -0.3056143888882522, 1e-15);
  EXPECT_NEAR(at("Cos", -10000), -0.9521553682590149, 1e-15);
}

TEST(Trigonometry, TheFloatNextToHalfPiLiesBeyondThePole) {
  EXPECT_NEAR(at("Tan", M_PI / 2), -22877332.42885646, 1e-6);
}

TEST(Trigonometry, InversesEndAtOne) {
  EXPECT_EQ(at("Asin", 1), M_PI / 2);
  EXPECT_EQ(at("Asin", -1), -M_PI / 2);
  EXPECT_EQ(at("Acos", 1), 0);
  EXPECT_EQ(at("Acos", -1), M_PI);
  for (const char* name : {"Asin", "Acos"}) {
    EXPECT_TRUE(std::isnan(at(name, 1.0000001))) << name;
    EXPECT_TRUE(std::isnan(at(name, -INFINITY))) << name;
  }
}

TEST(Trigonometry, ArcTangentIsFlatAtInfinity) {
  EXPECT_EQ(at("Atan", INFINITY), M_PI / 2);
  EXPECT_EQ(at("Atan", -INFINITY), -M_PI / 2);
  EXPECT_EQ(at("Atan", 1), M_PI / 4);
}

TEST(Trigonometry, HyperbolicsGrowOrSettle) {
  EXPECT_EQ(at("Sinh", -INFINITY), -INFINITY);
  EXPECT_EQ(at("Cosh", -INFINITY), INFINITY);
  EXPECT_EQ(at("Cosh", 0), 1);
  EXPECT_EQ(numbers("Tanh", on(tensor_of({-INFINITY, -30, 30, INFINITY}))), (Numbers{-1, -1, 1, 1}));
}

TEST(Trigonometry, HyperbolicInversesHaveTheirBranchPoints) {
  EXPECT_NEAR(at("Asinh", 1), std::log(1 + std::sqrt(2.0)), 1e-15);
  EXPECT_EQ(at("Asinh", -INFINITY), -INFINITY);
  EXPECT_EQ(at("Acosh", 1), 0);
  EXPECT_NEAR(at("Acosh", 2), std::log(2 + std::sqrt(3.0)), 1e-15);
  EXPECT_TRUE(std::isnan(at("Acosh", 0.99999994)));
  EXPECT_NEAR(at("Atanh", 0.5), std::log(3.0) / 2, 1e-15);
  EXPECT_EQ(at("Atanh", 1), INFINITY);
  EXPECT_EQ(at("Atanh", -1), -INFINITY);
  EXPECT_TRUE(std::isnan(at("Atanh", 1.0000001)));
}

TEST(Trigonometry, OddFunctionsKeepTheSignOfZero) {
  for (const char* name : {"Sin", "Tan", "Asin", "Atan", "Sinh", "Tanh", "Asinh", "Atanh"}) {
    const double y = at(name, -0.0);
    EXPECT_TRUE(y == 0 && std::signbit(y)) << name;
  }
}

TEST(Trigonometry, NaNStaysNaN) {
  for (const char* name :
       {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"}) {
    EXPECT_TRUE(std::isnan(at(name, NAN))) << name;
  }
}

TEST(Trigonometry, WhatLeavesFloat32IsInfinite) {
  const WideTensor y = answer("Sinh", on(tensor_of({-100})));
  EXPECT_TRUE(compare(y, tensor_of({-INFINITY})).right());
  EXPECT_FALSE(compare(y, tensor_of({-3.4e38})).right());
}

TEST(Trigonometry, AcceptsTheFormulasButNotHalfPrecision) {
  const float x = 1 + 0x1p-20f;
  const WideTensor near_one = answer("Acosh", on(tensor_of({x})));
  EXPECT_TRUE(compare(near_one, tensor_of({std::log(x + std::sqrt(x * x - 1.0f))})).right());
  EXPECT_FALSE(compare(near_one, tensor_of({0})).right());
  const WideTensor tanh = answer("Tanh", on(tensor_of({0.3f})));
  EXPECT_TRUE(compare(tanh, tensor_of({1 - 2 / (std::exp(2 * 0.3f) + 1)})).right());
  EXPECT_FALSE(compare(tanh, tensor_of({to_double(half_from(std::tanh(0.3)))})).right());
}

}  // namespace
}  // namespace kw::ops
