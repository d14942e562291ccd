#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

TEST(Shape, ClampsStartAndEnd) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(numbers("Shape", on(x)), (Numbers{2, 3, 4}));
  EXPECT_EQ(numbers("Shape", on(x).attribute("start", -2)), (Numbers{3, 4}));
  EXPECT_EQ(numbers("Shape", on(x).attribute("end", -9)), (Numbers{}));
}

TEST(Constant, HasExactlyOneValue) {
  EXPECT_EQ(numbers("Constant", Sample().attribute("value_ints", Integers{3, -4})), (Numbers{3, -4}));
  EXPECT_TRUE(refused("Constant", Sample()));
  EXPECT_TRUE(refused("Constant", Sample().attribute("value_int", 1).attribute("value_float", 1.0)));
}

TEST(ConstantOfShape, FillsWithZeroOrTheValue) {
  const Tensor two = Tensor::of_integers({2});
  EXPECT_EQ(numbers("ConstantOfShape", on(two)), (Numbers{0, 0}));
  EXPECT_EQ(numbers("ConstantOfShape", on(two).attribute("value", Tensor::of_integers({7}))), (Numbers{7, 7}));
  EXPECT_TRUE(refused("ConstantOfShape", on(Tensor::of_integers({-1}))));
}

TEST(EyeLike, PutsOnesOnTheKthDiagonal) {
  EXPECT_EQ(numbers("EyeLike", on(zeros({2, 3})).attribute("k", 1)), (Numbers{0, 1, 0, 0, 0, 1}));
}

Sample range(double start, double limit, double delta, DType dtype = DType::float32) {
  return on(Tensor::scalar(start, dtype), Tensor::scalar(limit, dtype), Tensor::scalar(delta, dtype));
}

TEST(Range, StopsBeforeTheLimit) {
  EXPECT_EQ(numbers("Range", range(3, 9, 3)), (Numbers{3, 6}));
  EXPECT_EQ(numbers("Range", range(10, 4, -2, DType::int32)), (Numbers{10, 8, 6}));
  EXPECT_EQ(shape_text("Range", range(1, 0, 1)), "[0]");
}

TEST(Range, RefusesToGoOnForEver) {
  EXPECT_TRUE(refused("Range", range(0, 1, 0)));
  EXPECT_TRUE(refused("Range", range(0, std::numeric_limits<double>::infinity(), 1)));
  EXPECT_TRUE(refused("Range", range(-9e18, 9e18, 1, DType::int64)));
}

// Range over inputs that are drawn: the task declares how long the result is.
Task range_task(DType dtype, std::int64_t length) {
  const Op& op = *find_op("Range");
  Task task = task_of(op, Sample().input(dtype, {}).input(dtype, {}).input(dtype, {}));
  task.outputs[0].dtype = dtype;
  task.outputs[0].lengths = {{length, ""}};
  return task;
}

TEST(Range, IsDrawnAsLongAsDeclared) {
  for (const DType dtype : {DType::float32, DType::int32, DType::int64}) {
    for (const std::int64_t length : {0, 1, 1000}) {
      const Task task = range_task(dtype, length);
      const auto graph = resolve(task);
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      for (InputClass input_class : kInputClasses) {
        const auto answer = evaluate(*graph, draw_inputs(*graph, input_class, 5));
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->front().count(), length);
      }
    }
  }
}

TEST(Range, LetsKernelsMultiplyOrAddUpButNotSlip) {
  const Task task = range_task(DType::float32, 1024);
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Tensor> inputs = draw_inputs(*graph, InputClass::typical, seed);
    const auto expected = evaluate(*graph, inputs);
    ASSERT_TRUE(expected.ok());
    const float start = inputs[0].as<float>()[0];
    const float delta = inputs[2].as<float>()[0];
    Tensor multiplied(DType::float32, {1024});
    Tensor added(DType::float32, {1024});
    Tensor slipped(DType::float32, {1024});
    float sum = start;
    for (std::size_t i = 0; i < 1024; ++i) {
      multiplied.as<float>()[i] = start + static_cast<float>(i) * delta;
      slipped.as<float>()[i] = start + static_cast<float>(i + 1) * delta;
      added.as<float>()[i] = sum;
      sum += delta;
    }
    EXPECT_TRUE(compare(expected->front(), multiplied).right());
    EXPECT_TRUE(compare(expected->front(), added).right());
    EXPECT_EQ(compare(expected->front(), slipped).wrong, 1024);
  }
}

}  // namespace
}  // namespace kw::ops
