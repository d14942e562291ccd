#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

// Element (y, x) of the 4 x 4 image is 4 y + x: reading anywhere inside gives 4 y + x.
const Tensor kSlope = tensor_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {1, 1, 4, 4});

Sample pooled(const Numbers& box, std::int64_t image = 0) {
  return on(kSlope, tensor_of(box, {1, 4}), Tensor::of_integers({image}));
}

TEST(RoiAlign, ReadsTheMiddleOfABox) {
  expect_near(numbers("RoiAlign", pooled({1, 1, 3, 3}).attribute("sampling_ratio", 1)), {4 * 1.5 + 1.5}, 1e-9);
}

TEST(RoiAlign, ShiftedByHalfAnElementOnlyFromOpset16) {
  expect_near(numbers("RoiAlign", pooled({1, 1, 3, 3}).attribute("sampling_ratio", 1), {.opset = 10}), {4 * 2 + 2},
              1e-9);
}

TEST(RoiAlign, ReadsAsManyPointsAsABinIsLong) {
  expect_near(numbers("RoiAlign", pooled({0.5, 0.5, 3.5, 3.4})), {4 * 1.45 + 1.5}, 1e-6);
}

TEST(RoiAlign, AllowsBothCountsWhereTheBinIsAWholeNumberLong) {
  EXPECT_GT(answer("RoiAlign", pooled({0.1, 0, 1.1, 2}).attribute("mode", "max")).slack_at(0), 0.01);
}

TEST(RoiAlign, CountsAPlaceOutsideAsNothing) {
  EXPECT_EQ(numbers("RoiAlign", pooled({-9, -9, -7, -7}).attribute("sampling_ratio", 2)), (Numbers{0}));
}

TEST(RoiAlign, RefusesAnImageThatIsNotThere) { EXPECT_TRUE(refused("RoiAlign", pooled({0, 0, 1, 1}, 1))); }

}  // namespace
}  // namespace kw::ops
