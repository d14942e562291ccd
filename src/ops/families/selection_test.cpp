#include <gtest/gtest.h>

#include <algorithm>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Sample top(const Numbers& values, std::int64_t k) { return on(tensor_of(values), {k}); }

TEST(TopK, PrefersTheSmallerIndexAmongEquals) {
  EXPECT_EQ(numbers("TopK", top({1, 3, 3, 2}, 3)), (Numbers{3, 3, 2}));
  EXPECT_EQ(numbers("TopK", top({1, 3, 3, 2}, 3), {.output = 1}), (Numbers{1, 2, 3}));
}

TEST(TopK, FindsTheSmallest) {
  const Sample sample = top({2, 1, 3, 1}, 2).attribute("largest", 0);
  EXPECT_EQ(numbers("TopK", sample), (Numbers{1, 1}));
  EXPECT_EQ(numbers("TopK", sample, {.output = 1}), (Numbers{1, 3}));
}

TEST(TopK, RefusesMoreThanThereAre) { EXPECT_TRUE(refused("TopK", top({1, 2}, 3))); }

TEST(TopK, HasNoTiesAmongTypicalInputs) {
  const Sample sample = Sample().input(DType::float16, {2, 3000}).constant(Tensor::of_integers({10}));
  const Tensor x = drawn("TopK", sample).at(0);
  for (std::int64_t row = 0; row < 2; ++row) {
    Numbers values;
    for (std::int64_t i = 0; i < 3000; ++i) values.push_back(x.real(row * 3000 + i));
    std::ranges::sort(values);
    EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
  }
}

TEST(Unique, TellsWhereWhichAndHowOften) {
  const Sample sample = on(tensor_of({2, 1, 1, 3, 4, 3}));
  EXPECT_EQ(numbers("Unique", sample), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 1}), (Numbers{1, 0, 3, 4}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 2}), (Numbers{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 3}), (Numbers{2, 1, 2, 1}));
}

TEST(Unique, KeepsTheOrderOfAppearanceUnsorted) {
  const Sample sample = on(tensor_of({2, 1, 1, 3, 4, 3})).attribute("sorted", 0);
  EXPECT_EQ(numbers("Unique", sample), (Numbers{2, 1, 3, 4}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 1}), (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 2}), (Numbers{0, 1, 1, 2, 3, 2}));
}

TEST(Unique, ComparesSlicesAlongAnAxis) {
  const Sample sample = on(tensor_of({1, 0, 1, 3, 2, 3}, {2, 3})).attribute("axis", 1);
  EXPECT_EQ(shape_text("Unique", sample), "[2, 2]");
  EXPECT_EQ(numbers("Unique", sample), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(numbers("Unique", sample, {.output = 2}), (Numbers{1, 0, 1}));
}

TEST(Unique, OrdersUnsignedNumbersBeyondInt64) {
  const Tensor x = Tensor::of_integers({-1, 5}, DType::uint64);  // -1 is 2^64 - 1
  EXPECT_EQ(numbers("Unique", on(x), {.output = 1}), (Numbers{1, 0}));
}

TEST(NonZero, GivesCoordinatesByAxis) {
  const Sample sample = on(tensor_of({1, 0, -0.0, 2}, {2, 2}));
  EXPECT_EQ(shape_text("NonZero", sample), "[2, 2]");
  EXPECT_EQ(numbers("NonZero", sample), (Numbers{0, 1, 0, 1}));
}

TEST(NonZero, CannotBeComputedFromYet) {
  Task task = task_of(*find_op("NonZero"), Sample().input(DType::float32, {4}));
  Node next;
  next.op = "Transpose";
  next.inputs = {"out0"};
  next.outputs = {"turned"};
  task.nodes.push_back(next);
  task.outputs[0].name = "turned";
  EXPECT_FALSE(resolve(task).ok());
}

Sample compress(Integers condition) {
  return on(tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}), Tensor::of_integers(std::move(condition), DType::boolean));
}

TEST(Compress, TakesMarkedSlicesOrElements) {
  EXPECT_EQ(numbers("Compress", compress({0, 1, 1}).attribute("axis", 0)), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(numbers("Compress", compress({0, 1, 0, 0, 1})), (Numbers{2, 5}));
}

TEST(Compress, DropsWhatAShortConditionDoesNotMark) {
  EXPECT_EQ(numbers("Compress", compress({0, 1}).attribute("axis", 0)), (Numbers{3, 4}));
  EXPECT_TRUE(refused("Compress", compress({1, 1, 1}).attribute("axis", 1)));
}

}  // namespace
}  // namespace kw::ops
