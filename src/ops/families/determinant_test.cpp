#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

TEST(Det, KnowsSmallMatrices) {
  const Tensor x = tensor_of({1, 2, 3, 4, 0, 1, 1, 0, 1, 2, 2, 4}, {3, 2, 2});
  const Numbers dets = numbers("Det", on(x));
  ASSERT_EQ(dets.size(), 3u);
  EXPECT_NEAR(dets[0], -2, 1e-15);
  EXPECT_EQ(dets[1], -1);
  EXPECT_EQ(dets[2], 0);
  EXPECT_EQ(numbers("Det", on(zeros({0, 0}))), (Numbers{1}));
  EXPECT_TRUE(refused("Det", on(zeros({2, 3}))));
}

TEST(Det, GrowsItsSlackWithTheConditionOfTheMatrix) {
  const double near = 1 + 0x1p-12;
  const WideTensor good = answer("Det", on(tensor_of({1, -1, 1, 1}, {2, 2})));
  const WideTensor bad = answer("Det", on(tensor_of({1, 1, 1, near}, {2, 2})));
  EXPECT_LT(good.slack[0] / std::fabs(good.reals[0]), 2e-6);
  EXPECT_GT(bad.slack[0] / std::fabs(bad.reals[0]), 1e-4);
}

// Gaussian elimination as a plain kernel would do it.
float float32_determinant(std::vector<float> a, std::size_t n) {
  float det = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
    }
    for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[best * n + j]);
    det *= best == k ? a[k * n + k] : -a[k * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const float factor = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return det;
}

TEST(Det, AcceptsEliminationInFloat32AndNoMissingElement) {
  constexpr std::size_t kSize = 100;  // several panels, the last one not whole
  const Task task = task_of(*find_op("Det"), Sample().input(DType::float32, {kSize, kSize}));
  const Graph graph = *resolve(task);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<Tensor> inputs = draw_inputs(graph, InputClass::typical, seed);
    const WideTensor expected = (*evaluate(graph, inputs))[0];
    std::vector<float> matrix(inputs[0].as<float>().begin(), inputs[0].as<float>().end());
    const Comparison honest = compare(expected, tensor_of({float32_determinant(matrix, kSize)}, {}));
    EXPECT_LT(honest.worst, 0.5);
    for (std::size_t i = 0; i < kSize; ++i) matrix[i * kSize + kSize - 1] = i + 1 == kSize ? 1.0f : 0.0f;
    EXPECT_FALSE(compare(expected, tensor_of({float32_determinant(matrix, kSize)}, {})).right());
  }
}

}  // namespace
}  // namespace kw::ops
