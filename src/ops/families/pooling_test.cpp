#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Sample window(Tensor x, Integers kernel, Integers strides, Integers pads = {}, bool ceil = false) {
  Sample sample = on(std::move(x));
  sample.attribute("kernel_shape", std::move(kernel)).attribute("strides", std::move(strides));
  if (!pads.empty()) sample.attribute("pads", std::move(pads));
  sample.attribute("ceil_mode", std::int64_t{ceil});
  return sample;
}

const Tensor kFive = tensor_of({1, 2, 3, 4, 5}, {1, 1, 5});

TEST(MaxPool, LetsTheLastWindowRunOffTheEndWhenAskedToCeil) {
  EXPECT_EQ(numbers("MaxPool", window(kFive, {2}, {2})), (Numbers{2, 4}));
  EXPECT_EQ(numbers("MaxPool", window(kFive, {2}, {2}, {}, true)), (Numbers{2, 4, 5}));
}

TEST(MaxPool, DoesNotTakePaddingForAnElement) {
  const Tensor x = tensor_of({-3, -2, -1}, {1, 1, 3});
  EXPECT_EQ(numbers("MaxPool", window(x, {2}, {1}, {1, 1})), (Numbers{-3, -2, -1, -1}));
}

TEST(MaxPool, NamesTheFirstOfEqualElementsInEitherStorageOrder) {
  const Tensor x = tensor_of({0, 7, 7, 0, 7, 0, 0, 0, 0, 0, 0, 1}, {1, 2, 2, 3});
  EXPECT_EQ(numbers("MaxPool", window(x, {2, 3}, {1, 1}), {.output = 1}), (Numbers{1, 11}));
  EXPECT_EQ(numbers("MaxPool", window(x, {2, 3}, {1, 1}).attribute("storage_order", 1), {.output = 1}),
            (Numbers{2, 11}));
}

TEST(MaxPool, RefusesWindowsOnPaddingAlone) { EXPECT_TRUE(refused("MaxPool", window(kFive, {2}, {1}, {2, 0}))); }

TEST(AveragePool, CountsPaddingOnlyWhenAskedAndNeverWhatLiesBeyond) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 1, 4});
  // Windows on {pad, 1, 2} and {3, 4, pad}, then with a stride of 4 on {4, pad, beyond}.
  EXPECT_EQ(numbers("AveragePool", window(x, {3}, {3}, {1, 1}, true)), (Numbers{1.5, 3.5}));
  EXPECT_EQ(numbers("AveragePool", window(x, {3}, {3}, {1, 1}, true).attribute("count_include_pad", 1)),
            (Numbers{1, 7.0 / 3.0}));
  EXPECT_EQ(numbers("AveragePool", window(x, {3}, {4}, {1, 1}, true).attribute("count_include_pad", 1)),
            (Numbers{1, 2}));
}

TEST(LpPool, TakesTheNormOfWhatLiesOnTheInput) {
  const Tensor x = tensor_of({3, -4, -5}, {1, 1, 3});
  EXPECT_EQ(numbers("LpPool", window(x, {2}, {2}, {}, true)), (Numbers{5, 5}));
  EXPECT_EQ(numbers("LpPool", window(x, {2}, {1}).attribute("p", 1)), (Numbers{7, 9}));
  EXPECT_TRUE(refused("LpPool", window(x, {2}, {1}).attribute("p", 0)));
}

TEST(GlobalPooling, KeepsTheRankAndRefusesEmptyChannels) {
  const Tensor x = tensor_of({1, 3, -5, -7}, {1, 2, 1, 2});
  EXPECT_EQ(shape_text("GlobalAveragePool", on(x)), "[1, 2, 1, 1]");
  EXPECT_EQ(numbers("GlobalAveragePool", on(x)), (Numbers{2, -6}));
  EXPECT_EQ(numbers("GlobalMaxPool", on(x)), (Numbers{3, -5}));
  EXPECT_TRUE(refused("GlobalMaxPool", on(zeros({1, 1, 0}))));
  EXPECT_TRUE(refused("GlobalMaxPool", on(zeros({1, 1}))));
}

}  // namespace
}  // namespace kw::ops
