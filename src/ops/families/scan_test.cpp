#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

Sample along(Tensor x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return on(std::move(x), {axis})
      .attribute("exclusive", std::int64_t{exclusive})
      .attribute("reverse", std::int64_t{reverse});
}

TEST(CumSum, RunsForwardAndBackward) {
  const Tensor x = tensor_of({1, 2, 3});
  EXPECT_EQ(numbers("CumSum", along(x, 0)), (Numbers{1, 3, 6}));
  EXPECT_EQ(numbers("CumSum", along(x, 0, true)), (Numbers{0, 1, 3}));
  EXPECT_EQ(numbers("CumSum", along(x, 0, false, true)), (Numbers{6, 5, 3}));
  EXPECT_EQ(numbers("CumSum", along(x, 0, true, true)), (Numbers{5, 3, 0}));
}

TEST(CumSum, FollowsTheAxis) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(numbers("CumSum", along(x, 0)), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(numbers("CumSum", along(x, -1)), (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_TRUE(refused("CumSum", along(x, 2)));
}

TEST(CumSum, WrapsIntegers) {
  EXPECT_EQ(numbers("CumSum", along(tensor_of({2147483647, 1}, {2}, DType::int32), 0)),
            (Numbers{2147483647, -2147483648.0}));
}

TEST(CumSum, IsExactForTheFirstElementOnly) {
  const WideTensor y = answer("CumSum", along(tensor_of({1, 2, 3}), 0));
  EXPECT_EQ(y.slack_at(0), 0);
  EXPECT_GT(y.slack_at(1), 0);
  EXPECT_LT(y.slack_at(2), 1e-5);
}

TEST(CumProd, StartsFromOneWhenExclusive) {
  EXPECT_EQ(numbers("CumProd", along(tensor_of({2, 3, 4}), 0)), (Numbers{2, 6, 24}));
  EXPECT_EQ(numbers("CumProd", along(tensor_of({2, 3, 4}), 0, true, true)), (Numbers{12, 4, 1}));
}

}  // namespace
}  // namespace kw::ops
