#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Sample to_size(Tensor row, std::int64_t size) {
  return on(std::move(row)).absent().absent().constant(Tensor::of_integers({size}));
}
Sample asymmetric(Tensor row, std::int64_t size) {
  return to_size(std::move(row), size).attribute("coordinate_transformation_mode", "asymmetric");
}

TEST(Resize, TakesTiesToTheSideTheNearestModeSays) {
  const Tensor row = tensor_of({1, 2});
  EXPECT_EQ(numbers("Resize", asymmetric(row, 4)), (Numbers{1, 1, 2, 2}));  // 0.5 goes down
  EXPECT_EQ(numbers("Resize", asymmetric(row, 4).attribute("nearest_mode", "round_prefer_ceil")),
            (Numbers{1, 2, 2, 2}));
}

TEST(Resize, IsExactForWholeMultiples) { EXPECT_TRUE(answer("Resize", asymmetric(tensor_of({1, 2}), 6)).exact()); }

// Element 10 of 13 to 20 lies at 6.5, which float32 may round to either side.
TEST(Resize, AllowsBothNeighboursWhereRoundingDecides) {
  const Tensor row = tensor_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const WideTensor y = answer("Resize", asymmetric(row, 20));
  ASSERT_EQ(y.count(), 20);
  EXPECT_EQ(y.reals[10], 6);
  EXPECT_EQ(y.slack_at(10), 1);
  EXPECT_EQ(y.slack_at(11), 0);
}

TEST(Resize, InterpolatesByEveryPlacement) {
  const auto linear = [](const char* place) {
    return numbers(
        "Resize",
        to_size(tensor_of({0, 4}), 4).attribute("mode", "linear").attribute("coordinate_transformation_mode", place));
  };
  expect_near(linear("half_pixel"), {0, 1, 3, 4});
  expect_near(linear("asymmetric"), {0, 2, 4, 4});
  expect_near(linear("align_corners"), {0, 4.0 / 3, 8.0 / 3, 4});
}

TEST(Resize, ExtrapolatesOutsideOfACrop) {
  const WideTensor y = answer("Resize", on(tensor_of({0, 4}), tensor_of({0.5, 1.5}))
                                            .absent()
                                            .constant(Tensor::of_integers({3}))
                                            .attribute("mode", "linear")
                                            .attribute("coordinate_transformation_mode", "tf_crop_and_resize")
                                            .attribute("extrapolation_value", 9.0));
  ASSERT_EQ(y.count(), 3);
  EXPECT_NEAR(y.reals[0], 2, 1e-6);
  EXPECT_EQ(y.reals[2], 9);
  EXPECT_GE(y.slack_at(1), 5);  // on the border itself, rounding decides
}

TEST(Resize, LeavesOutsideElementsOutWhenAsked) {
  const Sample sample = to_size(tensor_of({5, 5, 5}), 5).attribute("mode", "cubic").attribute("exclude_outside", 1);
  expect_near(numbers("Resize", sample), Numbers(5, 5));
}

TEST(Resize, WidensItsFilterAgainstAliasing) {
  const Sample sample = to_size(tensor_of({0, 0, 8, 0, 0, 0}), 3).attribute("mode", "linear").attribute("antialias", 1);
  expect_near(numbers("Resize", sample), {1, 3, 0});
}

TEST(Resize, KeepsTheAspectRatioOfTheNamedAxes) {
  const Sample sample = on(zeros({1, 2, 4}))
                            .absent()
                            .absent()
                            .constant(Tensor::of_integers({6, 9}))
                            .attribute("axes", Integers{2, 1})
                            .attribute("keep_aspect_ratio_policy", "not_larger");
  EXPECT_EQ(shape_text("Resize", sample), "[1, 3, 6]");
}

TEST(Resize, CopiesIntegersOnly) {
  const Sample sample = to_size(tensor_of({7, 9}, {2}, DType::uint8), 4);
  EXPECT_EQ(numbers("Resize", sample), (Numbers{7, 7, 9, 9}));
  EXPECT_TRUE(refused("Resize", Sample(sample).attribute("mode", "linear")));
}

TEST(Resize, WantsScalesOrSizesAndNotBoth) {
  const Tensor row = tensor_of({1, 2});
  const Tensor scale = tensor_of({2});
  const Tensor size = Tensor::of_integers({4});
  EXPECT_TRUE(refused("Resize", on(row).absent().constant(scale).constant(size)));
  EXPECT_TRUE(refused("Resize", on(row)));
}

}  // namespace
}  // namespace kw::ops
