#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(Softmax, FlattensAllLaterAxesBeforeOpset13) {
  EXPECT_EQ(numbers("Softmax", on(zeros({2, 2, 2})), {.opset = 11}), Numbers(8, 0.25));
  EXPECT_EQ(numbers("Softmax", on(zeros({2, 2, 2})), {.opset = 13}), Numbers(8, 0.5));
}

TEST(Softmax, GivesAMaskedElementNothing) {
  EXPECT_EQ(numbers("Softmax", on(tensor_of({1000, -INFINITY, 1000}))), (Numbers{0.5, 0, 0.5}));
}

TEST(LogSoftmax, StaysFiniteForLargeInputs) {
  EXPECT_EQ(numbers("LogSoftmax", on(tensor_of({1000, 0}))), (Numbers{0, -1000}));
}

TEST(Hardmax, PrefersTheFirstOfEqualElements) {
  EXPECT_EQ(numbers("Hardmax", on(tensor_of({1, 4, 4}, {3, 1})).attribute("axis", 0)), (Numbers{0, 1, 0}));
}

}  // namespace
}  // namespace kw::ops
