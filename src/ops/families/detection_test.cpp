#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

// The most boxes to keep of a class, and the most that two of them may overlap.
Sample suppression(Tensor boxes, Tensor scores, std::int64_t most, double overlap) {
  return on(std::move(boxes), std::move(scores), Tensor::of_integers({most}), tensor_of({overlap}));
}
Numbers kept(const Sample& sample) { return numbers("NonMaxSuppression", sample); }

// The second box covers half of the first: an overlap of 1/2. The third lies apart. Corners come in any order.
const Tensor kBoxes = tensor_of({0, 0, 1, 2, 1, 1, 0, 0, 5, 5, 6, 6}, {1, 3, 4});

TEST(NonMaxSuppression, DropsABoxOnlyBeyondTheLimitOfOverlap) {
  const Tensor scores = tensor_of({0.9, 0.8, 0.95}, {1, 1, 3});
  EXPECT_EQ(kept(suppression(kBoxes, scores, 9, 0.5)), (Numbers{0, 0, 2, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(kept(suppression(kBoxes, scores, 9, 0.4)), (Numbers{0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(kept(suppression(kBoxes, scores, 1, 0.5)), (Numbers{0, 0, 2}));
}

TEST(NonMaxSuppression, JudgesEveryClassOnItsOwnAndDropsLowScores) {
  const Tensor scores = tensor_of({0.9, 0.8, 0.1, 0.2, 0.7, 0.6}, {1, 2, 3});
  EXPECT_EQ(kept(suppression(kBoxes, scores, 9, 0.4).constant(tensor_of({0.15}))),
            (Numbers{0, 0, 0, 0, 1, 1, 0, 1, 2}));
}

TEST(NonMaxSuppression, KeepsNothingUnlessAskedForANumberOfBoxes) {
  EXPECT_EQ(kept(on(kBoxes, tensor_of({1, 1, 1}, {1, 1, 3}))), Numbers{});
}

TEST(NonMaxSuppression, ReadsCentreAndSize) {
  const Tensor boxes = tensor_of({1, 0.5, 2, 1, 0.5, 0.5, 1, 1}, {1, 2, 4});  // x, y, width, height
  const Tensor scores = tensor_of({0.5, 0.6}, {1, 1, 2});
  EXPECT_EQ(kept(suppression(boxes, scores, 2, 0.49).attribute("center_point_box", 1)), (Numbers{0, 0, 1}));
  EXPECT_EQ(kept(suppression(boxes, scores, 2, 0.51).attribute("center_point_box", 1)), (Numbers{0, 0, 1, 0, 0, 0}));
}

TEST(NonMaxSuppression, RefusesALimitBeyondOne) {
  const Tensor scores = tensor_of({0.9, 0.8, 0.95}, {1, 1, 3});
  EXPECT_TRUE(refused("NonMaxSuppression", suppression(kBoxes, scores, 9, 1.5)));
}

}  // namespace
}  // namespace kw::ops
