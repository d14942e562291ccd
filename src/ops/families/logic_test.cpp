#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Tensor bools(Integers values) { return Tensor::of_integers(std::move(values), DType::boolean); }

TEST(Logic, NothingIsEqualToNaNNorAboveNorBelow) {
  const Tensor nan = tensor_of({NAN});
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    EXPECT_EQ(answer(op, on(nan, tensor_of({1}))).integers, Integers{0}) << op;
    EXPECT_EQ(answer(op, on(nan, nan)).integers, Integers{0}) << op;
  }
}

TEST(Logic, ZerosOfBothSignsAreEqual) {
  EXPECT_EQ(answer("Equal", on(tensor_of({0.0}), tensor_of({-0.0}))).integers, Integers{1});
  EXPECT_EQ(answer("Less", on(tensor_of({-0.0}), tensor_of({0.0}))).integers, Integers{0});
}

TEST(Logic, UnsignedIntegersAreComparedWithoutASign) {
  const Tensor huge = Tensor::of_integers({-1}, DType::uint64);
  const Tensor one = Tensor::of_integers({1}, DType::uint64);
  EXPECT_EQ(answer("Greater", on(huge, one)).integers, Integers{1});
  EXPECT_EQ(answer("LessOrEqual", on(huge, one)).integers, Integers{0});
}

TEST(Logic, TruthTables) {
  const Tensor a = bools({0, 0, 1, 1});
  const Tensor b = bools({0, 1, 0, 1});
  EXPECT_EQ(answer("And", on(a, b)).integers, (Integers{0, 0, 0, 1}));
  EXPECT_EQ(answer("Or", on(a, b)).integers, (Integers{0, 1, 1, 1}));
  EXPECT_EQ(answer("Xor", on(a, b)).integers, (Integers{0, 1, 1, 0}));
}

TEST(Logic, BitsOfNegativeIntegersAreTwosComplement) {
  const Tensor a = Tensor::of_integers({-1, 12}, DType::int32);
  const Tensor b = Tensor::of_integers({6, 10}, DType::int32);
  EXPECT_EQ(answer("BitwiseAnd", on(a, b)).integers, (Integers{6, 8}));
  EXPECT_EQ(answer("BitwiseOr", on(a, b)).integers, (Integers{-1, 14}));
  EXPECT_EQ(answer("BitwiseXor", on(a, b)).integers, (Integers{-7, 6}));
}

TEST(Logic, WhereBroadcastsAllThree) {
  const Tensor condition = tensor_of({1, 0}, {2, 1}, DType::boolean);
  const auto chosen = answer("Where", on(condition, tensor_of({1, 2, 3}), tensor_of({-1}, {})));
  EXPECT_EQ(chosen.shape, (Shape{2, 3}));
  EXPECT_EQ(chosen.reals, (Numbers{1, 2, 3, -1, -1, -1}));
}

// A constant answer, or one that takes < for <=, must be wrong for many elements whatever the shapes are.
TEST(Logic, DrawnInputsHoldTiesInEveryInputClass) {
  const std::pair<Shape, Shape> shapes[] = {{{40, 25}, {40, 25}}, {{40, 25}, {25}}, {{1}, {40, 25}}, {{40, 1}, {25}}};
  for (const auto& [a, b] : shapes) {
    const Sample sample = Sample().input(DType::float32, a).input(DType::float32, b);
    for (InputClass input_class : kInputClasses) {
      std::ptrdiff_t fewest = 1000, most = 0;  // once in a while all elements are equal, or none is
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const auto equal = answer("Equal", sample, {.input_class = input_class, .seed = seed}).integers;
        const auto ties = std::ranges::count(equal, 1);
        fewest = std::min(fewest, ties);
        most = std::max(most, ties);
      }
      EXPECT_GE(most, 20) << a.text() << b.text() << name_of(input_class);
      EXPECT_LE(fewest, 800) << a.text() << b.text() << name_of(input_class);
    }
  }
}

}  // namespace
}  // namespace kw::ops
