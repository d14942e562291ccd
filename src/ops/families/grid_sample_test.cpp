#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

// A row of three elements read at one place.
WideTensor read_row(const char* mode, const char* padding, double x, std::int64_t align_corners = 1) {
  return answer("GridSample", on(tensor_of({10, 20, 40}, {1, 1, 1, 3}), tensor_of({x, 0}, {1, 1, 1, 2}))
                                  .attribute("mode", mode)
                                  .attribute("padding_mode", padding)
                                  .attribute("align_corners", align_corners));
}

TEST(GridSample, ReadsBetweenElements) {
  EXPECT_NEAR(read_row("linear", "zeros", 0.5).reals[0], 30, 1e-9);
  EXPECT_NEAR(read_row("linear", "zeros", 0, 0).reals[0], 20, 1e-9);
}

TEST(GridSample, PadsWithZerosTheBorderOrAReflection) {
  EXPECT_NEAR(read_row("linear", "zeros", 1.5).reals[0], 20, 1e-9);
  EXPECT_NEAR(read_row("linear", "border", 1.5).reals[0], 40, 1e-9);
  EXPECT_NEAR(read_row("linear", "reflection", 1.5).reals[0], 30, 1e-9);
  EXPECT_NEAR(read_row("nearest", "reflection", -1.5, 0).reals[0], 10, 1e-9);
}

TEST(GridSample, AllowsBothNeighboursOnlyWhereTheyAreEquallyNear) {
  const WideTensor between = read_row("nearest", "zeros", 0.5);  // place 1.5
  EXPECT_EQ(between.reals[0], 40);                               // to the even one
  EXPECT_EQ(between.slack[0], 20);
  EXPECT_EQ(read_row("nearest", "zeros", 0.49).slack[0], 0);
}

TEST(GridSample, ReadsVolumes) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 2, 2, 2});
  const Tensor grid = tensor_of({1, -1, 0}, {1, 1, 1, 1, 3});  // the last element, the first row, between both planes
  expect_near(numbers("GridSample", on(x, grid).attribute("align_corners", 1)), {3}, 1e-9);
}

TEST(GridSample, RefusesAGridOfTheWrongRank) {
  EXPECT_TRUE(refused("GridSample", on(tensor_of({1}, {1, 1, 1, 1}), tensor_of({0, 0, 0}, {1, 1, 1, 3}))));
}

}  // namespace
}  // namespace kw::ops
