#include <gtest/gtest.h>

#include <set>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Tensor indices(const Numbers& values, Shape shape) { return tensor_of(values, std::move(shape), DType::int64); }

const Tensor kMatrix = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2});

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  const Sample sample = on(kMatrix, {2, -3});
  EXPECT_EQ(numbers("Gather", sample), (Numbers{5, 6, 1, 2}));
}

TEST(Gather, DropsTheAxisForAScalarIndex) {
  const Sample sample = on(kMatrix, Tensor::scalar(1, DType::int64)).attribute("axis", 1);
  EXPECT_EQ(shape_text("Gather", sample), "[3]");
  EXPECT_EQ(numbers("Gather", sample), (Numbers{2, 4, 6}));
}

TEST(Gather, RefusesIndicesOutOfRange) {
  EXPECT_TRUE(refused("Gather", on(kMatrix, {3})));
  EXPECT_TRUE(refused("Gather", on(kMatrix, {-4})));
}

TEST(GatherElements, ReplacesOneCoordinate) {
  const Sample sample = on(kMatrix, indices({1, 0, -1, 1}, {2, 2})).attribute("axis", 1);
  EXPECT_EQ(numbers("GatherElements", sample), (Numbers{2, 1, 4, 4}));
}

TEST(GatherND, TakesSlicesOrElements) {
  EXPECT_EQ(numbers("GatherND", on(kMatrix, indices({2, 0}, {2, 1}))), (Numbers{5, 6, 1, 2}));
  EXPECT_EQ(numbers("GatherND", on(kMatrix, {2, 1})), (Numbers{6}));
}

TEST(GatherND, GoesThroughBatches) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2});
  const Sample sample = on(x, indices({1, 0}, {2, 1})).attribute("batch_dims", 1);
  EXPECT_EQ(numbers("GatherND", sample), (Numbers{2, 3, 4, 5}));
}

Sample scatter(const char* reduction, Integers places, const Numbers& updates) {
  return on(tensor_of({1, 2, 3}), std::move(places)).constant(tensor_of(updates)).attribute("reduction", reduction);
}

TEST(ScatterElements, ReplacesOrJoins) {
  EXPECT_EQ(numbers("ScatterElements", scatter("none", {2, -3}, {8, 9})), (Numbers{9, 2, 8}));
  EXPECT_EQ(numbers("ScatterElements", scatter("add", {1, 1}, {8, 9})), (Numbers{1, 19, 3}));
  EXPECT_EQ(numbers("ScatterElements", scatter("mul", {1, 1}, {8, 9})), (Numbers{1, 144, 3}));
  EXPECT_EQ(numbers("ScatterElements", scatter("max", {1, 1}, {-8, 9})), (Numbers{1, 9, 3}));
  EXPECT_EQ(numbers("ScatterElements", scatter("min", {1, 1}, {-8, 9})), (Numbers{1, -8, 3}));
}

TEST(ScatterElements, RefusesTwoUpdatesOfOnePlace) {
  EXPECT_TRUE(refused("ScatterElements", scatter("none", {1, -2}, {8, 9})));
}

TEST(ScatterElements, HasSlackOnlyWhereItRounds) {
  EXPECT_TRUE(answer("ScatterElements", scatter("none", {1}, {8})).exact());
  const WideTensor added = answer("ScatterElements", scatter("add", {1, 1}, {8, 9}));
  EXPECT_EQ(added.slack_at(0), 0);
  EXPECT_GT(added.slack_at(1), 0);
  EXPECT_LT(added.slack_at(1), 1e-4);
}

TEST(ScatterElements, DrawsEveryPlaceOnceWithoutReduction) {
  const Shape shape{4, 9};
  const std::vector<Tensor> inputs = drawn("ScatterElements", Sample()
                                                                  .input(DType::float32, shape)
                                                                  .input(DType::int64, shape)
                                                                  .input(DType::float32, shape)
                                                                  .attribute("axis", 1));
  ASSERT_EQ(inputs.size(), 3u);
  for (std::int64_t row = 0; row < 4; ++row) {
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < 9; ++i) places.insert(inputs[1].integer(row * 9 + i));
    EXPECT_EQ(places.size(), 9u);
  }
}

TEST(ScatterND, WritesSlices) {
  const Sample sample = on(kMatrix, indices({-1, 0}, {2, 1}), tensor_of({7, 8, 9, 10}, {2, 2}));
  EXPECT_EQ(numbers("ScatterND", sample), (Numbers{9, 10, 3, 4, 7, 8}));
}

Sample one_hot(Tensor at, std::int64_t axis) {
  return on(std::move(at), {3}).constant(tensor_of({-1, 5})).attribute("axis", axis);
}

TEST(OneHot, CountsFromTheEndAndIgnoresTheRest) {
  EXPECT_EQ(numbers("OneHot", one_hot(Tensor::of_integers({0, -1, 3, -4}), -1)),
            (Numbers{5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1}));
}

TEST(OneHot, PutsTheNewAxisWhereAsked) {
  EXPECT_EQ(numbers("OneHot", one_hot(Tensor::of_integers({0, 2}), 0)), (Numbers{5, -1, -1, -1, -1, 5}));
}

TEST(OneHot, CutsFloatsToIntegers) {
  EXPECT_EQ(numbers("OneHot", one_hot(tensor_of({1.9}), -1)), (Numbers{-1, 5, -1}));
}

}  // namespace
}  // namespace kw::ops
