#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

TEST(Functions, RoundTakesHalvesToTheEvenNeighbour) {
  EXPECT_EQ(numbers("Round", on(tensor_of({0.5, 1.5, 2.5, -0.5, -1.5, 2.3}))), (Numbers{0, 2, 2, -0.0, -2, 2}));
}

TEST(Functions, RoundingsKeepNumbersThatNoInt32Holds) {
  EXPECT_EQ(numbers("Floor", on(tensor_of({4e9, -INFINITY}))), (Numbers{4e9, -INFINITY}));
}

TEST(Functions, TheLowestIntegerWrapsToItself) {
  EXPECT_EQ(answer("Abs", on(Tensor::of_integers({-128, -1, 127}, DType::int8))).integers, (Integers{-128, 1, 127}));
  EXPECT_EQ(answer("Neg", on(Tensor::of_integers({-128, 3}, DType::int8))).integers, (Integers{-128, -3}));
}

TEST(Functions, HighBitsOfUnsignedIntegersAreNoSigns) {
  const Tensor x = Tensor::of_integers({-1, 0}, DType::uint64);
  EXPECT_EQ(answer("Sign", on(x)).integers, (Integers{1, 0}));
  EXPECT_EQ(answer("Abs", on(x)).integers, (Integers{-1, 0}));
  EXPECT_EQ(answer("BitwiseNot", on(Tensor::of_integers({0, 5}, DType::uint8))).integers, (Integers{255, 250}));
}

TEST(Functions, InfinitiesAreFoundBySign) {
  const Tensor x = tensor_of({INFINITY, -INFINITY, NAN, 3e38});
  EXPECT_EQ(answer("IsInf", on(x)).integers, (Integers{1, 1, 0, 0}));
  EXPECT_EQ(answer("IsInf", on(x).attribute("detect_negative", 0)).integers, (Integers{1, 0, 0, 0}));
  EXPECT_EQ(answer("IsNaN", on(x)).integers, (Integers{0, 0, 1, 0}));
}

TEST(Functions, AnInfinityMustBeReached) {
  const auto y = answer("Reciprocal", on(tensor_of({0})));
  EXPECT_TRUE(compare(y, tensor_of({INFINITY})).right());
  EXPECT_FALSE(compare(y, tensor_of({3e38})).right());
  EXPECT_FALSE(compare(answer("Exp", on(tensor_of({INFINITY}))), tensor_of({3e38})).right());
}

TEST(Functions, TypicalInputsHoldWhatTheTestsLookFor) {
  for (const char* op : {"IsNaN", "IsInf"}) {
    const auto found = std::ranges::count(answer(op, Sample().input(DType::float32, {100})).integers, 1);
    EXPECT_GT(found, 5) << op;
    EXPECT_LT(found, 95) << op;
  }
}

}  // namespace
}  // namespace kw::ops
