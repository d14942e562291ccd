#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(Reshape, CopiesALengthForZeroAndFillsMinusOne) {
  EXPECT_EQ(shape_text("Reshape", on(zeros({2, 3, 4}), {0, -1})), "[2, 12]");
  EXPECT_EQ(shape_text("Reshape", on(zeros({0, 3}), {3, 0}).attribute("allowzero", 1)), "[3, 0]");
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refused("Reshape", on(zeros({2, 3}), {4, -1})));
  EXPECT_TRUE(refused("Reshape", on(zeros({2, 3}), {-1, -1})));
  EXPECT_TRUE(refused("Reshape", on(zeros({2, 3}), {2, 3, 0})));
  EXPECT_TRUE(refused("Reshape", on(zeros({0}), {0, -1}).attribute("allowzero", 1)));
}

TEST(Squeeze, TakesAxesAsInputOrAttributeOrAllOnes) {
  EXPECT_EQ(shape_text("Squeeze", on(zeros({1, 3, 1}), {-1})), "[1, 3]");
  EXPECT_EQ(shape_text("Squeeze", on(zeros({1, 3, 1})).attribute("axes", Integers{0}), {.opset = 11}), "[3, 1]");
  EXPECT_EQ(shape_text("Squeeze", on(zeros({1, 3, 1}))), "[3]");
  EXPECT_TRUE(refused("Squeeze", on(zeros({1, 3, 1}), {1})));
}

TEST(Unsqueeze, CountsAxesInTheResult) {
  EXPECT_EQ(shape_text("Unsqueeze", on(zeros({3}), {0, -1})), "[1, 3, 1]");
  EXPECT_TRUE(refused("Unsqueeze", on(zeros({3}), {0, 0})));
}

TEST(Flatten, HasAtLeastOneRow) {
  EXPECT_EQ(shape_text("Flatten", on(zeros({2, 3, 4})).attribute("axis", 0)), "[1, 24]");
  EXPECT_EQ(shape_text("Flatten", on(zeros({2, 3, 4})).attribute("axis", -1)), "[6, 4]");
  EXPECT_EQ(shape_text("Flatten", on(zeros({2, 3, 4})).attribute("axis", 3)), "[24, 1]");
}

TEST(Transpose, ReversesAxesByDefault) {
  EXPECT_EQ(numbers("Transpose", on(tensor_of({1, 2, 3, 4, 5, 6}, {2, 3}))), (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(refused("Transpose", on(zeros({2, 3})).attribute("perm", Integers{0, 0})));
}

TEST(DepthToSpace, PutsBlockOrChannelFirst) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7}, {1, 8, 1, 1});
  Sample sample = on(x).attribute("blocksize", 2);
  EXPECT_EQ(numbers("DepthToSpace", sample), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  sample.attribute("mode", "CRD");
  EXPECT_EQ(numbers("DepthToSpace", sample), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SpaceToDepth, UndoesDepthToSpace) {
  const Sample sample = on(tensor_of({0, 2, 4, 6, 1, 3, 5, 7}, {1, 2, 2, 2})).attribute("blocksize", 2);
  EXPECT_EQ(numbers("SpaceToDepth", sample), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ReverseSequence, LeavesTheRestOfASequence) {
  const Sample sample =
      on(tensor_of({0, 1, 2, 3, 4, 5}, {2, 3}), {3, 2}).attribute("time_axis", 1).attribute("batch_axis", 0);
  EXPECT_EQ(numbers("ReverseSequence", sample), (Numbers{2, 1, 0, 4, 3, 5}));
  EXPECT_TRUE(refused("ReverseSequence", on(zeros({3, 2}), {4, 1})));
}

}  // namespace
}  // namespace kw::ops
