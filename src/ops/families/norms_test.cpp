#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(LpNormalization, LeavesARowOfZerosAlone) {
  const WideTensor y = answer("LpNormalization", on(tensor_of({0, 0, 3, -4}, {2, 2})));
  EXPECT_EQ(y.reals, (Numbers{0, 0, 0.6, -0.8}));
  EXPECT_EQ(y.slack_at(0), 0);
}

TEST(LpNormalization, RefusesOtherNorms) {
  EXPECT_TRUE(refused("LpNormalization", on(tensor_of({1})).attribute("p", 3)));
}

// Of two neighbours only the later channel counts when the size is 2.
TEST(LRN, ReachesFurtherUpWhenTheSizeIsEven) {
  const Numbers y = numbers("LRN", on(tensor_of({1, 2, 3}, {1, 3, 1, 1}))
                                       .attribute("size", 2)
                                       .attribute("alpha", 2.0)
                                       .attribute("beta", 1.0)
                                       .attribute("bias", 1.0));
  expect_near(y, {1.0 / 6, 2.0 / 14, 3.0 / 10}, 1e-12);
}

}  // namespace
}  // namespace kw::ops
