#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

template <class... Tensors>
Sample einsum(const char* equation, const Tensors&... operands) {
  return on(operands...).attribute("equation", equation);
}

const Tensor kTwoByThree = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});

TEST(Einsum, SumsKeepsAndOrdersIndices) {
  EXPECT_EQ(numbers("Einsum", einsum("ij->", kTwoByThree)), (Numbers{21}));
  EXPECT_EQ(numbers("Einsum", einsum("ij->j", kTwoByThree)), (Numbers{5, 7, 9}));
  EXPECT_EQ(numbers("Einsum", einsum("ba", kTwoByThree)), (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(numbers("Einsum", einsum(" i j , j -> i ", kTwoByThree, tensor_of({1, 10, 100}))), (Numbers{321, 654}));
}

TEST(Einsum, WalksDiagonals) {
  const Tensor square = tensor_of({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(numbers("Einsum", einsum("ii->i", square)), (Numbers{1, 4}));
  EXPECT_EQ(numbers("Einsum", einsum("ii", square)), (Numbers{5}));
}

TEST(Einsum, MovesWithoutSlack) { EXPECT_TRUE(answer("Einsum", einsum("ij->ji", kTwoByThree)).exact()); }

TEST(Einsum, BroadcastsWhatAnEllipsisHides) {
  const Tensor a = tensor_of({1, 2, 3, 4}, {2, 1, 2});
  const Tensor b = tensor_of({1, 0, 0, 1}, {1, 2, 2});
  EXPECT_EQ(shape_text("Einsum", einsum("...k,...k->...", a, b)), "[2, 2]");
  EXPECT_EQ(numbers("Einsum", einsum("...k,...k->...", a, b)), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(numbers("Einsum", einsum("...k->k...", tensor_of({1, 2, 3, 4}, {2, 2}))), (Numbers{1, 3, 2, 4}));
}

TEST(Einsum, RefusesEquationsThatMeanNothing) {
  for (const char* equation :
       {"i", "ijk", "ij,jk", "ij->iij", "ij->k", "i1", "i.j", "......ij", "ij->i->j", "ii", ""}) {
    EXPECT_TRUE(refused("Einsum", einsum(equation, kTwoByThree))) << equation;
  }
  EXPECT_TRUE(refused("Einsum", einsum("ij,jk->ik", kTwoByThree, kTwoByThree)));
  EXPECT_TRUE(refused("Einsum", einsum("...,...->...", kTwoByThree, tensor_of({1, 2, 3}))));
}

}  // namespace
}  // namespace kw::ops
