#include <gtest/gtest.h>

#include "ops/by_hand.h"
#include "ops/quantized.h"

namespace kw::ops {
namespace {

TEST(Quantized, HasSlackOnlyWhereAHalfLiesBetweenTheQuotientAndItsError) {
  EXPECT_EQ(quantized(3.4999, 1e-5, 10, 0, DType::uint8).slack, 0);
  EXPECT_EQ(quantized(3.4999, 1e-3, 10, 0, DType::uint8).slack, 1);
  EXPECT_EQ(quantized(3.4999, 1e-3, 10, 0, DType::uint8).value, 13);
  EXPECT_EQ(quantized(300.5, 1e-3, 0, 0, DType::uint8).slack, 0) << "both neighbours saturate";
}

TEST(QuantizeLinear, RoundsHalvesToEvenBeforeItAddsTheZeroPoint) {
  const Tensor x = tensor_of({0.5, 1.5, 2.5, -0.5, -1.5});
  EXPECT_EQ(numbers("QuantizeLinear", on(x, Tensor::scalar(1), Tensor::scalar(3, DType::int8))),
            (Numbers{3, 5, 5, 3, 1}));
}

TEST(QuantizeLinear, ToleratesTheOtherNeighbourOnlyWhereTheScaleRounds) {
  const auto at_a_half = [](double scale) {
    const double rounded = static_cast<float>(scale);
    return answer("QuantizeLinear", on(tensor_of({2.5 * rounded}), Tensor::scalar(scale)));
  };
  EXPECT_TRUE(at_a_half(0.25).exact());
  EXPECT_EQ(at_a_half(0.3).slack, (Numbers{1}));
}

TEST(QuantizeLinear, SaturatesAndIsUnsignedBytesByDefault) {
  const WideTensor y = answer("QuantizeLinear", on(tensor_of({-1e30, 1, 1e30}), Tensor::scalar(0.5)));
  EXPECT_EQ(y.integers, (Integers{0, 2, 255}));
  EXPECT_EQ(y.dtype, DType::uint8);
}

TEST(QuantizeLinear, TakesTheScaleOfItsPlaceAlongTheAxisOrOfItsBlock) {
  const Tensor x = tensor_of({4, 4, 4, 4, 4, 4}, {2, 3});
  EXPECT_EQ(numbers("QuantizeLinear", on(x, tensor_of({1, 2})).attribute("axis", 0)), (Numbers{4, 4, 4, 2, 2, 2}));
  const Tensor block_scales = tensor_of({1, 2, 4, 8}, {2, 2});
  EXPECT_EQ(numbers("QuantizeLinear", on(x, block_scales).attribute("axis", -1).attribute("block_size", 2)),
            (Numbers{4, 4, 2, 1, 1, 0}));
}

TEST(QuantizeLinear, RefusesScalesThatDoNotFitAndThoseThatAreNotPositive) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(refused("QuantizeLinear", on(x, tensor_of({1, 1}))));
  EXPECT_TRUE(refused("QuantizeLinear", on(x, Tensor::scalar(0))));
  EXPECT_TRUE(refused("QuantizeLinear", on(x, Tensor::scalar(1), tensor_of({0, 0}, {2}, DType::uint8))));
  EXPECT_TRUE(refused("QuantizeLinear", on(x, Tensor::scalar(1)).attribute("block_size", -1)));
}

TEST(DequantizeLinear, TakesTheZeroPointOffFirst) {
  const Tensor x = tensor_of({0, 128, 255}, {3}, DType::uint8);
  EXPECT_EQ(numbers("DequantizeLinear", on(x, Tensor::scalar(2), Tensor::scalar(128, DType::uint8))),
            (Numbers{-256, 0, 254}));
}

// As ONNX Runtime's quantiser writes biases.
TEST(DequantizeLinear, TakesOneScaleAndOneZeroPointOfEitherShape) {
  const Tensor x = tensor_of({0, 128, 255}, {3}, DType::uint8);
  EXPECT_EQ(numbers("DequantizeLinear", on(x, tensor_of({2}, {1}), Tensor::scalar(128, DType::uint8))),
            (Numbers{-256, 0, 254}));
}

// All three outputs must be asked for.
Sample by_extent(const Numbers& values) {
  Sample sample = on(tensor_of(values));
  sample.outputs = 3;
  return sample;
}

TEST(DynamicQuantizeLinear, StretchesFromTheLeastToTheMostWithZeroAmongThem) {
  const Sample both_signs = by_extent({-1, 0, 2, 254});
  EXPECT_EQ(numbers("DynamicQuantizeLinear", both_signs), (Numbers{0, 1, 3, 255}));
  EXPECT_EQ(numbers("DynamicQuantizeLinear", both_signs, {.output = 1}), (Numbers{1}));
  EXPECT_EQ(numbers("DynamicQuantizeLinear", both_signs, {.output = 2}), (Numbers{1}));
  const Sample above_zero = by_extent({100, 510});
  EXPECT_EQ(numbers("DynamicQuantizeLinear", above_zero), (Numbers{50, 255}));
  EXPECT_EQ(numbers("DynamicQuantizeLinear", above_zero, {.output = 2}), (Numbers{0}));
}

TEST(DynamicQuantizeLinear, RefusesWhatHasNoExtent) {
  EXPECT_TRUE(refused("DynamicQuantizeLinear", by_extent({0, 0})));
  EXPECT_TRUE(refused("DynamicQuantizeLinear", by_extent({})));
}

}  // namespace
}  // namespace kw::ops
