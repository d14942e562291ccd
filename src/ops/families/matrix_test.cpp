#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

const Tensor kTwoByThree = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});

TEST(MatMul, DropsTheAxisThatAVectorLends) {
  const WideTensor left = answer("MatMul", on(tensor_of({1, 10}), kTwoByThree));
  EXPECT_EQ(left.shape, (Shape{3}));
  EXPECT_EQ(left.reals, (Numbers{41, 52, 63}));
  const WideTensor both = answer("MatMul", on(tensor_of({1, 10}), tensor_of({3, 4})));
  EXPECT_EQ(both.shape, Shape{});
  EXPECT_EQ(both.reals, (Numbers{43}));
}

TEST(MatMul, BroadcastsBatches) {
  const Tensor a = tensor_of({2, 3}, {2, 1, 1, 1});
  const Tensor b = tensor_of({5, 7}, {2, 1, 1});
  EXPECT_EQ(numbers("MatMul", on(a, b)), (Numbers{10, 14, 15, 21}));
}

TEST(MatMul, WrapsIntegersAround) {
  const Tensor big = tensor_of({2147483647, 1}, {1, 2}, DType::int32);
  const Tensor ones = tensor_of({1, 1}, {2, 1}, DType::int32);
  EXPECT_EQ(numbers("MatMul", on(big, ones)), (Numbers{-2147483648.0}));
}

// In float32 the first two leave the range on their way to a sum that is a number.
TEST(MatMul, AllowsAnythingWhereSomeOfItsTermsOverflow) {
  const float infinity = std::numeric_limits<float>::infinity();
  const WideTensor many = answer("MatMul", on(tensor_of({3e38, 3e38, -3e38}, {1, 3}), tensor_of({1, 1, 1}, {3, 1})));
  EXPECT_TRUE(compare(many, tensor_of({infinity}, {1, 1})).right());
  EXPECT_TRUE(compare(many, tensor_of({-infinity}, {1, 1})).right());
  const WideTensor one = answer("MatMul", on(tensor_of({3e38}, {1, 1}), tensor_of({10}, {1, 1})));
  EXPECT_TRUE(compare(one, tensor_of({infinity}, {1, 1})).right());
  EXPECT_FALSE(compare(one, tensor_of({-infinity}, {1, 1})).right());
  const WideTensor small = answer("MatMul", on(tensor_of({1e38, 1e38, -1e38}, {1, 3}), tensor_of({1, 1, 1}, {3, 1})));
  EXPECT_FALSE(compare(small, tensor_of({infinity}, {1, 1})).right());
}

TEST(MatMul, RefusesInnerLengthsThatDiffer) {
  EXPECT_TRUE(refused("MatMul", on(kTwoByThree, kTwoByThree)));
  EXPECT_TRUE(refused("MatMul", on(kTwoByThree, tensor_of({1}, {}))));
}

TEST(Gemm, ScalesTransposesAndBroadcastsC) {
  const Sample sample = on(kTwoByThree, kTwoByThree, tensor_of({10, 20}, {2, 1}))
                            .attribute("transB", 1)
                            .attribute("alpha", 0.5)
                            .attribute("beta", 2.0);
  // [[14, 32], [32, 77]] / 2 + 2 * [[10], [20]]
  EXPECT_EQ(numbers("Gemm", sample), (Numbers{27, 36, 56, 78.5}));
}

// A sum that begins with C is rounded at C's size at every step, as a convolution's that begins with its bias.
TEST(Gemm, LetsASumBeginWithC) {
  constexpr std::int64_t kDepth = 300;
  Random random(3);
  Numbers left(kDepth), right(kDepth);
  for (double& x : left) x = static_cast<float>(random.uniform(-0.01, 0.01));
  for (double& x : right) x = static_cast<float>(random.uniform(-0.01, 0.01));
  const auto of = [&](double c) {
    return answer("Gemm", on(tensor_of(left, {1, kDepth}), tensor_of(right, {kDepth, 1}), tensor_of({c}, {1})));
  };
  for (int i = 1; i <= 40; ++i) {
    const double c = static_cast<float>(i) / 41;
    auto begins_with_c = static_cast<float>(c), half = begins_with_c;
    for (std::size_t k = 0; k < left.size(); ++k) begins_with_c += static_cast<float>(left[k] * right[k]);
    for (std::size_t k = 0; k < left.size(); ++k)
      half = static_cast<float>(std::lround((half + left[k] * right[k]) * 2048)) / 2048;
    const WideTensor right_answer = of(c);
    EXPECT_TRUE(compare(right_answer, tensor_of({begins_with_c}, {1, 1})).right()) << c;
    EXPECT_FALSE(compare(right_answer, tensor_of({half}, {1, 1})).right()) << c;
  }
}

TEST(Gemm, RefusesACThatWouldWidenTheProduct) {
  const Tensor one = tensor_of({1}, {1, 1});
  EXPECT_TRUE(refused("Gemm", on(one, one, tensor_of({1, 2}))));
}

}  // namespace
}  // namespace kw::ops
