#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Tensor length(std::int64_t value) { return Tensor::scalar(static_cast<double>(value), DType::int64); }

TEST(DFT, OfAnImpulseTurnsByItsPlace) {
  expect_near(numbers("DFT", on(tensor_of({0, 1, 0, 0}, {1, 4, 1}))), {1, 0, 0, -1, -1, 0, 0, 1});
}

TEST(DFT, TakesTheAxisAsAttributeOrInput) {
  const Tensor x = tensor_of({1, 3}, {2, 1, 1});
  const Numbers wanted{4, 0, -2, 0};
  expect_near(numbers("DFT", on(x).attribute("axis", 0), {.opset = 17}), wanted);
  expect_near(numbers("DFT", on(x).absent().constant(length(0)), {.opset = 20}), wanted);
}

TEST(DFT, PadsAndCutsToItsLength) {
  const Tensor x = tensor_of({1, 2}, {1, 2, 1});
  expect_near(numbers("DFT", on(x, length(1))), {1, 0});
  EXPECT_EQ(numbers("DFT", on(x, length(4))).size(), 8u);
}

TEST(DFT, OnesidedThereAndBackGivesTheSignal) {
  for (const Numbers& signal : {Numbers{1, -2, 5, 4}, Numbers{1, -2, 5, 4, 3}}) {
    const auto n = static_cast<std::int64_t>(signal.size());
    const Numbers half = numbers("DFT", on(tensor_of(signal, {1, n, 1}, DType::float64)).attribute("onesided", 1));
    ASSERT_EQ(half.size(), signal.size() / 2 * 2 + 2);
    expect_near(numbers("DFT", on(tensor_of(half, {1, n / 2 + 1, 2}, DType::float64), length(n))
                                   .attribute("onesided", 1)
                                   .attribute("inverse", 1)),
                signal);
  }
}

TEST(DFT, RefusesTheAxisOfParts) {
  EXPECT_TRUE(refused("DFT", on(tensor_of({1, 2}, {1, 2, 1})).absent().constant(length(-1))));
}

TEST(STFT, WeighsEveryFrameByTheWindow) {
  const WideTensor y = answer("STFT", on(tensor_of({1, 2, 3, 4, 5}, {1, 5, 1}), length(2), tensor_of({1, 10})));
  EXPECT_EQ(y.shape, (Shape{1, 2, 2, 2}));
  expect_near(y.reals, {21, 0, -19, 0, 43, 0, -37, 0});
}

TEST(STFT, RefusesAFrameLongerThanTheSignal) {
  EXPECT_TRUE(refused("STFT", on(tensor_of({1, 2}, {1, 2, 1}), length(1)).absent().constant(length(3))));
}

TEST(Windows, ArePeriodicOrSymmetric) {
  expect_near(numbers("HannWindow", on(length(4))), {0, 0.5, 1, 0.5});
  expect_near(numbers("HannWindow", on(length(3)).attribute("periodic", 0)), {0, 1, 0});
  expect_near(numbers("BlackmanWindow", on(length(2))), {0, 1});
  expect_near(numbers("HammingWindow", on(length(2))), {4.0 / 46, 1});
}

}  // namespace
}  // namespace kw::ops
