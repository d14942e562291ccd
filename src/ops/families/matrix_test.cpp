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

// 64 terms that are drawn; what an answer has from factors of so many bits of fraction.
struct LongProduct {
  Graph graph;
  std::vector<Tensor> inputs;
  Task task;

  explicit LongProduct(Precision precision, DType dtype = DType::float32) {
    Task made = task_of(*find_op("MatMul"), Sample().input(dtype, {6, 64}).input(dtype, {64, 7}));
    made.precision = precision;
    task = std::move(made);
    graph = *resolve(task);
    inputs = draw_inputs(graph, InputClass::typical, 3);
  }
  bool accepts_factors_of(int bits) const {
    std::vector<Tensor> rounded = inputs;
    for (Tensor& one : rounded) {
      for (std::int64_t i = 0; i < one.count(); ++i) {
        int exponent = 0;
        const double fraction = std::frexp(one.real(i), &exponent);
        one.set_real(i, std::ldexp(std::nearbyint(std::ldexp(fraction, bits + 1)), exponent - bits - 1));
      }
    }
    return compare((*evaluate(graph, inputs))[0], narrow((*evaluate(graph, rounded))[0])).right();
  }
};

TEST(MatMul, MayLoseWhatTf32LosesWhereTheTaskSaysSo) {
  EXPECT_TRUE(LongProduct(Precision::tf32).accepts_factors_of(10));
  EXPECT_FALSE(LongProduct(Precision::tf32).accepts_factors_of(7));  // bfloat16
  EXPECT_FALSE(LongProduct(Precision::of_types).accepts_factors_of(10));
}

// A sum in bfloat16 is off by more than one that is rounded to it at the end.
TEST(MatMul, OfBfloat16IsSummedInFloat32) {
  const LongProduct product(Precision::of_types, DType::bfloat16);
  const WideTensor expected = (*evaluate(product.graph, product.inputs))[0];
  const auto answered_by = [&](auto add) {
    Tensor answer(DType::bfloat16, expected.shape), one(DType::bfloat16, Shape{1});
    for (std::int64_t i = 0; i < answer.count(); ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < 64; ++k)
        sum = add(sum, product.inputs[0].real(i / 7 * 64 + k) * product.inputs[1].real(k * 7 + i % 7), one);
      answer.set_real(i, sum);
    }
    return compare(expected, answer).right();
  };
  EXPECT_TRUE(answered_by([](double sum, double term, Tensor&) { return double(float(sum + term)); }));
  EXPECT_FALSE(answered_by([](double sum, double term, Tensor& rounded) {
    rounded.set_real(0, sum + term);
    return rounded.real(0);
  }));
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
