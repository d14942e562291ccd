#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"
#include "ops/onnx_types.h"

namespace kw::ops {
namespace {

Sample cast(Tensor x, DType to) { return on(std::move(x)).attribute("to", onnx_number(to)); }

TEST(Cast, RoundsTiesToEvenInHalfPrecision) {
  EXPECT_EQ(numbers("Cast", cast(tensor_of({2049, 2051, 0x1p-25, 0x1.8p-24, 0}), DType::float16)),
            (Numbers{2048, 2052, 0, 0x1p-23, 0}));
  EXPECT_EQ(numbers("Cast", cast(tensor_of({257, 259}), DType::bfloat16)), (Numbers{256, 260}));
}

TEST(Cast, OverflowsFloatsToInfinity) {
  EXPECT_EQ(numbers("Cast", cast(tensor_of({65519, 65520, -1e6}), DType::float16)),
            (Numbers{65504, INFINITY, -INFINITY}));
}

TEST(Cast, LeavesOneRightAnswerForExactFloats) {
  EXPECT_TRUE(answer("Cast", cast(tensor_of({0.1, 3.3}), DType::float16)).exact());
}

TEST(Cast, AcceptsDoublesRoundedThroughFloat32) {
  // Just above a tie of float16; in float32 it is the tie.
  const WideTensor y = answer("Cast", cast(tensor_of({2049 + 1e-9}, {1}, DType::float64), DType::float16));
  EXPECT_EQ(y.reals, (Numbers{2050}));
  EXPECT_EQ(y.slack_at(0), 2);
}

TEST(Cast, CutsFloatsTowardZero) {
  EXPECT_EQ(numbers("Cast", cast(tensor_of({1.9, -1.9, -0.5, 127.9}), DType::int8)), (Numbers{1, -1, 0, 127}));
}

TEST(Cast, RefusesFloatsThatNoIntegerHolds) {
  EXPECT_TRUE(refused("Cast", cast(tensor_of({128}), DType::int8)));
  EXPECT_TRUE(refused("Cast", cast(tensor_of({-1}), DType::uint8)));
  EXPECT_TRUE(refused("Cast", cast(tensor_of({NAN}), DType::int64)));
  EXPECT_TRUE(refused("Cast", cast(tensor_of({0x1p63}), DType::int64)));
}

TEST(Cast, DropsHighBitsBetweenIntegers) {
  EXPECT_EQ(numbers("Cast", cast(tensor_of({200}, {1}, DType::int16), DType::int8)), (Numbers{-56}));
}

TEST(Cast, ReadsUnsignedIntegersBeyondInt64) {
  EXPECT_EQ(numbers("Cast", cast(Tensor::of_integers({-1}, DType::uint64), DType::float32)), (Numbers{0x1p64}));
}

TEST(Cast, TakesEverythingButZeroForTrue) {
  EXPECT_EQ(numbers("Cast", cast(tensor_of({0, -0.0, 1e-40, NAN, -2}), DType::boolean)), (Numbers{0, 0, 1, 1, 1}));
}

TEST(Cast, DrawsZerosAndOthersForBool) {
  const Sample sample = Sample().input(DType::float32, {1000}).attribute("to", onnx_number(DType::boolean));
  const auto truths = std::ranges::count(answer("Cast", sample).integers, 1);
  EXPECT_GT(truths, 400);
  EXPECT_LT(truths, 600);
}

TEST(CastLike, TakesTheTypeOfTheOther) {
  const WideTensor y = answer("CastLike", on(tensor_of({1.5}), Tensor(DType::int32, {7})));
  EXPECT_EQ(y.dtype, DType::int32);
  EXPECT_EQ(y.integers, (Integers{1}));
}

}  // namespace
}  // namespace kw::ops
