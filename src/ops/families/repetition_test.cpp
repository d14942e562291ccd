#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(Tile, RepeatsWholeAxes) {
  EXPECT_EQ(numbers("Tile", on(tensor_of({1, 2, 3, 4}, {2, 2}), {1, 2})), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(shape_text("Tile", on(zeros({2, 2}), {0, 2})), "[0, 4]");
}

TEST(Expand, BroadcastsBothWays) {
  EXPECT_EQ(numbers("Expand", on(tensor_of({1, 2}, {2, 1}), {2, 2})), (Numbers{1, 1, 2, 2}));
  EXPECT_EQ(shape_text("Expand", on(zeros({3, 1}), {2, 1, 4})), "[2, 3, 4]");
  EXPECT_TRUE(refused("Expand", on(zeros({3}), {2})));
}

TEST(Pad, FillsMirrorsRepeatsAndWraps) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4});
  const auto mode = [&](const char* text, Integers pads) {
    return numbers("Pad", on(x, std::move(pads)).attribute("mode", text));
  };
  EXPECT_EQ(numbers("Pad", on(x, {1, -2}).constant(Tensor::scalar(9))), (Numbers{9, 0, 1, 2}));
  EXPECT_EQ(mode("reflect", {2, -1}), (Numbers{2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(mode("edge", {-1, 2}), (Numbers{1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(mode("wrap", {6, 0}), (Numbers{4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
}

TEST(Pad, AppliesToNamedAxes) {
  const Sample sample = on(zeros({2, 3}), {1, 2}).absent().constant(Tensor::of_integers({-1}));
  EXPECT_EQ(shape_text("Pad", sample), "[2, 6]");
}

TEST(Pad, RefusesToCutMoreThanThereIsAndToRepeatNothing) {
  EXPECT_TRUE(refused("Pad", on(zeros({3}), {-2, -2})));
  EXPECT_TRUE(refused("Pad", on(zeros({0}), {1, 0}).attribute("mode", "edge")));
}

TEST(CenterCropPad, GivesTheOddElementToTheEnd) {
  EXPECT_EQ(numbers("CenterCropPad", on(tensor_of({0, 1, 2, 3, 4}), {2})), (Numbers{1, 2}));
  EXPECT_EQ(numbers("CenterCropPad", on(tensor_of({1, 2}), {5})), (Numbers{0, 1, 2, 0, 0}));
}

}  // namespace
}  // namespace kw::ops
