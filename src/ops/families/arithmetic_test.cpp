#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

Tensor int32(Integers values) { return Tensor::of_integers(std::move(values), DType::int32); }

TEST(Arithmetic, IntegersDivideTowardZero) {
  EXPECT_EQ(answer("Div", on(int32({7, -7, 7, -7}), int32({2, 2, -2, -2}))).integers, (Integers{3, -3, -3, 3}));
}

TEST(Arithmetic, AnIntegerZeroDividesNothing) {
  const std::string refused_division = refusal("Div", on(int32({1, 2}), int32({1, 0})));
  EXPECT_NE(refused_division.find("element 1 of input 'B' is 0"), std::string::npos) << refused_division;
  EXPECT_TRUE(refused("Mod", on(int32({1}), int32({0}))));
  EXPECT_TRUE(std::isinf(numbers("Div", on(tensor_of({1}), tensor_of({0}))).at(0)));
}

TEST(Arithmetic, TheLowestIntegerOverMinusOneDoesNotTrap) {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const Tensor a = Tensor::of_integers({lowest});
  const Tensor b = Tensor::of_integers({-1});
  EXPECT_EQ(answer("Div", on(a, b)).integers, Integers{lowest});
  EXPECT_EQ(answer("Mod", on(a, b)).integers, Integers{0});
}

TEST(Arithmetic, ModTakesTheSignOfTheDivisorAndFmodThatOfTheDividend) {
  const Tensor a = int32({-4, 7, 5, 4, -7, 8});
  const Tensor b = int32({2, -3, 8, -2, 3, 5});
  EXPECT_EQ(answer("Mod", on(a, b)).integers, (Integers{0, -2, 5, 0, 2, 3}));
  EXPECT_EQ(answer("Mod", on(a, b).attribute("fmod", 1)).integers, (Integers{0, 1, 5, 0, -1, 3}));
  EXPECT_EQ(numbers("Mod", on(tensor_of({-4.5, 7.5}), tensor_of({2, -3})).attribute("fmod", 1)), (Numbers{-0.5, 1.5}));
}

TEST(Arithmetic, ModOfFloatsWithoutFmodCameWithOpset28) {
  const Tensor a = tensor_of({-4.5, 7.5});
  const Tensor b = tensor_of({2, -3});
  EXPECT_TRUE(refused("Mod", on(a, b), {.opset = 13}));
  EXPECT_EQ(numbers("Mod", on(a, b), {.opset = 28}), (Numbers{1.5, -1.5}));
}

TEST(Arithmetic, PowersKeepTheTypeOfTheBase) {
  EXPECT_EQ(answer("Pow", on(int32({2, -3, 7}), tensor_of({10, 3, 0}))).integers, (Integers{1024, -27, 1}));
  EXPECT_EQ(numbers("Pow", on(tensor_of({0.5, -2}), int32({3, 2}))), (Numbers{0.125, 4}));
  EXPECT_TRUE(refused("Pow", on(int32({2}), int32({-1}))));
  EXPECT_TRUE(refused("Pow", on(int32({-2}), tensor_of({0.5}))));
}

// What a sum of tiny squares is divided by may be zero in float, although it is not: between the ends of its slack.
TEST(Arithmetic, AllowAnythingWhereADivisorMayBeZero) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto quotient_by = [](double divisor, double slack) {
    WideTensor x = widen(tensor_of({1e-30})), y = widen(tensor_of({divisor}));
    y.slack = {slack};
    const Op* op = find_op("Div");
    const Task task = task_of(*op, on(tensor_of({1}), tensor_of({1})));
    const Graph graph = *resolve(task);
    std::vector<WideTensor> out = {WideTensor({DType::float32, Shape{1}})};
    const std::vector<const WideTensor*> in{&x, &y};
    EXPECT_TRUE(op->reference(graph.nodes[0].call, in, out).ok());
    return out[0];
  };
  EXPECT_TRUE(compare(quotient_by(1e-30, 1e-29), tensor_of({infinity})).right());
  EXPECT_TRUE(compare(quotient_by(-1e-30, 1e-29), tensor_of({NAN})).right());
  EXPECT_FALSE(compare(quotient_by(1e-30, 1e-31), tensor_of({infinity})).right()) << "there is no zero among these";
}

TEST(Arithmetic, ExtremesAndSumsBroadcastOverAllInputs) {
  const Tensor column = tensor_of({1, -5}, {2, 1});
  const Tensor row = tensor_of({0, 3, -9}, {3});
  const Tensor scalar = tensor_of({2}, {});
  EXPECT_EQ(numbers("Max", on(column, row, scalar)), (Numbers{2, 3, 2, 2, 3, 2}));
  EXPECT_EQ(numbers("Min", on(column, row, scalar)), (Numbers{0, 1, -9, -5, -5, -9}));
  EXPECT_EQ(numbers("Sum", on(column, row, scalar)), (Numbers{3, 6, -6, -3, 0, -12}));
  EXPECT_EQ(numbers("Mean", on(column, row, scalar)), (Numbers{1, 2, -2, -1, 0, -4}));
}

TEST(Arithmetic, UnsignedIntegersOfSixtyFourBitsKeepTheirOrder) {
  const Tensor huge = Tensor::of_integers({-1}, DType::uint64);
  const Tensor one = Tensor::of_integers({1}, DType::uint64);
  EXPECT_EQ(answer("Max", on(one, huge)).integers, Integers{-1});
  EXPECT_EQ(answer("Clip", on(huge).absent().constant(Tensor::of_integers({1}, DType::uint64))).integers, Integers{1});
  EXPECT_EQ(answer("Div", on(huge, Tensor::of_integers({2}, DType::uint64))).integers,
            Integers{std::numeric_limits<std::int64_t>::max()});
}

TEST(Arithmetic, ClipTakesItsLimitsFromInputsOrAttributes) {
  const Tensor x = tensor_of({-2, 0.5, 2});
  EXPECT_EQ(numbers("Clip", on(x, Tensor::scalar(-1), Tensor::scalar(1))), (Numbers{-1, 0.5, 1}));
  EXPECT_EQ(numbers("Clip", on(x).absent().constant(Tensor::scalar(1))), (Numbers{-2, 0.5, 1}));
  EXPECT_EQ(numbers("Clip", on(x).attribute("max", 0.0), {.opset = 6}), (Numbers{-2, 0, 0}));
  EXPECT_TRUE(refused("Clip", on(x, Tensor::scalar(-1)).attribute("min", 0.0)));
  EXPECT_TRUE(refused("Clip", on(x, tensor_of({1, 2}))));
}

TEST(Arithmetic, CrossedLimitsGiveTheUpperOne) {
  EXPECT_EQ(numbers("Clip", on(tensor_of({-2, 0, 2}), Tensor::scalar(1), Tensor::scalar(-1))), (Numbers{-1, -1, -1}));
}

TEST(Arithmetic, ShiftsDropWhatLeavesTheType) {
  const auto shift = [](Integers x, Integers y, DType type, std::string direction) {
    return answer("BitShift",
                  on(Tensor::of_integers(x, type), Tensor::of_integers(y, type)).attribute("direction", direction),
                  {.opset = 28})
        .integers;
  };
  EXPECT_EQ(shift({16, 200, 1}, {1, 1, 8}, DType::uint8, "LEFT"), (Integers{32, 144, 0}));
  EXPECT_EQ(shift({16, 200, 1}, {1, 3, 8}, DType::uint8, "RIGHT"), (Integers{8, 25, 0}));
  EXPECT_EQ(shift({-8, -8, 8}, {1, 40, -1}, DType::int32, "RIGHT"), (Integers{-4, -1, 0}));
}

TEST(Arithmetic, ProductsWithAReciprocalAreQuotientsAndHalfPrecisionIsNot) {
  const auto z = answer("Div", on(tensor_of({1.7}), tensor_of({0.9})));
  EXPECT_TRUE(compare(z, tensor_of({1.7f * (1.0f / 0.9f)})).right());
  EXPECT_FALSE(compare(z, tensor_of({to_double(half_from(1.7 / 0.9))})).right());
}

}  // namespace
}  // namespace kw::ops
