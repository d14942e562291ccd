#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Tensor byte(double value, DType dtype = DType::uint8) { return Tensor::scalar(value, dtype); }
Tensor scale(double value) { return Tensor::scalar(value); }

const Tensor kLeft = tensor_of({1, 2, 3, 4}, {2, 2}, DType::uint8);
const Tensor kRight = tensor_of({-1, 2, 3, -4}, {2, 2}, DType::int8);

TEST(MatMulInteger, TakesZeroPointsOffByRowAndByColumn) {
  EXPECT_EQ(numbers("MatMulInteger", on(kLeft, kRight)), (Numbers{5, -6, 9, -10}));
  EXPECT_EQ(numbers("MatMulInteger", on(kLeft, kRight, byte(1), byte(1, DType::int8))), (Numbers{2, -5, 2, -13}));
  const Tensor rows = tensor_of({1, 3}, {2}, DType::uint8), columns = tensor_of({-1, 2}, {2}, DType::int8);
  EXPECT_EQ(numbers("MatMulInteger", on(kLeft, kRight, rows, columns)), (Numbers{4, -6, 4, -6}));
}

TEST(MatMulInteger, RefusesZeroPointsThatFitNoRows) {
  EXPECT_TRUE(refused("MatMulInteger", on(kLeft, kRight, tensor_of({1, 2, 3}, {3}, DType::uint8))));
  EXPECT_TRUE(refused("MatMulInteger", on(kLeft, kRight, byte(1, DType::int8)))) << "not the type of A";
}

TEST(QLinearMatMul, RoundsToTheScaleOfTheResultAndSaturates) {
  const auto multiplied = [](double y_scale) {
    return answer("QLinearMatMul",
                  on(kLeft, scale(0.5), byte(0), kRight, scale(0.5), byte(0, DType::int8), scale(y_scale), byte(2)));
  };
  // The sums 5, -6, 9, -10 are 1.25, -1.5, 2.25, -2.5; halves go to even.
  EXPECT_EQ(multiplied(1).integers, (Integers{3, 0, 4, 0}));
  EXPECT_TRUE(multiplied(1).exact()) << "powers of two leave no doubt";
  EXPECT_EQ(multiplied(0.001953125).integers, (Integers{255, 0, 255, 0}));
}

TEST(QLinearMatMul, NeedsScaleAndZeroPointOfOneShape) {
  const Tensor columns = tensor_of({0.5, 0.25});
  EXPECT_TRUE(refused("QLinearMatMul",
                      on(kLeft, scale(0.5), byte(0), kRight, columns, byte(0, DType::int8), scale(1), byte(2))));
}

const Tensor kRow = tensor_of({10, 20, 30}, {1, 1, 3}, DType::uint8);
const Tensor kKernels = tensor_of({1, 2, 3, 4}, {2, 1, 2}, DType::uint8);

TEST(ConvInteger, PadsWithTheZeroPoint) {
  EXPECT_EQ(numbers("ConvInteger", on(kRow, kKernels, byte(10)).attribute("pads", Integers{1, 0})),
            (Numbers{0, 20, 50, 0, 40, 110}));
}

TEST(QLinearConv, ScalesByFeatureAfterAddingTheBias) {
  const Tensor w_scale = tensor_of({0.5, 0.25}), w_zero = tensor_of({0, 2}, {2}, DType::uint8);
  const Tensor bias = tensor_of({2, -4}, {2}, DType::int32);
  // Both kernels are then 1, 2 and give 50, 80; a half goes to even.
  EXPECT_EQ(numbers("QLinearConv", on(kRow, scale(1), byte(0), kKernels, w_scale, w_zero, scale(1), byte(1), bias)),
            (Numbers{27, 42, 13, 20}));
}

}  // namespace
}  // namespace kw::ops
