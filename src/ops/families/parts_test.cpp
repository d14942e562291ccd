#include <gtest/gtest.h>

#include <limits>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(Concat, JoinsAlongAnInnerAxis) {
  const Sample sample = on(tensor_of({1, 2}, {2, 1}), tensor_of({3, 4, 5, 6}, {2, 2})).attribute("axis", -1);
  EXPECT_EQ(numbers("Concat", sample), (Numbers{1, 3, 4, 2, 5, 6}));
}

TEST(Split, MakesTheLastPartShorterWhenCounted) {
  Sample sample = on(tensor_of({0, 1, 2, 3, 4})).attribute("num_outputs", 3);
  sample.outputs = 3;
  EXPECT_EQ(numbers("Split", sample, {.output = 1}), (Numbers{2, 3}));
  EXPECT_EQ(numbers("Split", sample, {.output = 2}), (Numbers{4}));
}

TEST(Split, RefusesPartsThatDoNotAddUp) {
  Sample sample = on(zeros({5}), {2, 2});
  sample.outputs = 2;
  EXPECT_TRUE(refused("Split", sample));
  Sample uneven = on(zeros({5}));
  uneven.outputs = 2;
  EXPECT_TRUE(refused("Split", uneven, {.opset = 13}));
}

Sample slice(Tensor x, Integers starts, Integers ends, Integers axes, Integers steps) {
  return on(std::move(x), std::move(starts))
      .constant(Tensor::of_integers(std::move(ends)))
      .constant(Tensor::of_integers(std::move(axes)))
      .constant(Tensor::of_integers(std::move(steps)));
}

TEST(Slice, CutsEndsToTheTensor) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4});
  EXPECT_EQ(numbers("Slice", slice(x, {-3}, {1000}, {0}, {1})), (Numbers{2, 3, 4}));
  EXPECT_EQ(numbers("Slice", slice(x, {-1000}, {-1}, {0}, {2})), (Numbers{0, 2}));
  EXPECT_EQ(shape_text("Slice", slice(x, {4}, {2}, {0}, {1})), "[0]");
}

TEST(Slice, GoesBackwardsThroughTheFirstElement) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4});
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(numbers("Slice", slice(x, {1000}, {kLowest}, {0}, {-2})), (Numbers{4, 2, 0}));
  EXPECT_EQ(numbers("Slice", slice(x, {1000}, {0}, {0}, {kLowest})), (Numbers{4}));
  EXPECT_EQ(shape_text("Slice", slice(zeros({0, 2}), {3}, {kLowest}, {0}, {-1})), "[0, 2]");
}

TEST(Slice, TakesAttributesOfOldOpsets) {
  const Sample sample = on(tensor_of({0, 1, 2, 3})).attribute("starts", Integers{1}).attribute("ends", Integers{-1});
  EXPECT_EQ(numbers("Slice", sample), (Numbers{1, 2}));
}

TEST(Trilu, KeepsFromTheDiagonalOn) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(numbers("Trilu", on(x)), (Numbers{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(numbers("Trilu", on(x, {1})), (Numbers{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(numbers("Trilu", on(x, {-1}).attribute("upper", 0)), (Numbers{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(numbers("Trilu", on(x, {std::numeric_limits<std::int64_t>::min()})), (Numbers{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace kw::ops
