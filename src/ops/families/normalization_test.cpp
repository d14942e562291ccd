#include <gtest/gtest.h>

#include <cmath>

#include "ops/by_hand.h"
#include "ops/compare.h"

namespace kw::ops {
namespace {

TEST(LayerNormalization, KeepsMeanAndInverseDeviation) {
  const Sample sample = on(tensor_of({1, 3}, {1, 2}), tensor_of({1, 2}), tensor_of({10, 20})).attribute("epsilon", 0.0);
  expect_near(numbers("LayerNormalization", sample), {9, 22});
  EXPECT_EQ(shape_text("LayerNormalization", sample, {.output = 1}), "[1, 1]");
  expect_near(numbers("LayerNormalization", sample, {.output = 1}), {2});
  expect_near(numbers("LayerNormalization", sample, {.output = 2}), {1});
}

TEST(LayerNormalization, RefusesAScaleThatWouldWidenX) {
  EXPECT_TRUE(refused("LayerNormalization", on(tensor_of({1, 3}, {1, 2}), tensor_of({1, 1, 1, 1}, {2, 2}))));
}

TEST(BatchNormalization, MixesItsRunningStatisticsInTraining) {
  Sample sample = on(tensor_of({1, 3}, {2, 1}), tensor_of({2}), tensor_of({5}), tensor_of({10}), tensor_of({9}))
                      .attribute("training_mode", 1)
                      .attribute("momentum", 0.75)
                      .attribute("epsilon", 3.0);
  sample.outputs = 3;
  expect_near(numbers("BatchNormalization", sample), {4, 6});              // deviation sqrt(1 + 3)
  expect_near(numbers("BatchNormalization", sample, {.output = 1}), {8});  // 10 * 0.75 + 2 * 0.25
  expect_near(numbers("BatchNormalization", sample, {.output = 2}), {7});  // 9 * 0.75 + 1 * 0.25
}

TEST(BatchNormalization, HasOneOutputOutsideOfTraining) {
  const Tensor one = tensor_of({1});
  EXPECT_TRUE(refused("BatchNormalization", on(tensor_of({1, 3}, {2, 1}), one, one, one, one), {.output = 2}));
}

TEST(GroupNormalization, ScalesChannelsOrGroupsByTheOpset) {
  const auto scaled = [](const Numbers& scale, int opset) {
    const Tensor x = tensor_of({1, 3, 2, 4}, {1, 4, 1});
    const Tensor no_bias = zeros({std::ssize(scale)});
    return numbers("GroupNormalization",
                   on(x, tensor_of(scale), no_bias).attribute("num_groups", 2).attribute("epsilon", 0.0),
                   {.opset = opset});
  };
  expect_near(scaled({1, 2, 3, 4}, 21), {-1, 2, -3, 4});
  expect_near(scaled({1, 2}, 18), {-1, 1, -2, 2});
}

TEST(RMSNormalization, DividesWithoutMovingTheMean) {
  expect_near(numbers("RMSNormalization", on(tensor_of({1, 7}), tensor_of({1, 1})).attribute("epsilon", 0.0)),
              {0.2, 1.4});
}

Task task_with_epsilon(const char* name, double epsilon) {
  Random random(5);
  const Op& op = *find_op(name);
  Sample sample = op.sample(random);
  sample.attribute("epsilon", epsilon);
  return task_of(op, sample);
}

// Some of the input classes must hold groups whose variance is as small as epsilon.
TEST(Normalizations, CatchAWrongEpsilon) {
  for (const char* name : {"LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization",
                           "BatchNormalization"}) {
    const Task right = task_with_epsilon(name, 1e-5);
    const Task wrong = task_with_epsilon(name, 1.2e-5);
    const auto graph = resolve(right);
    const auto wrong_graph = resolve(wrong);
    ASSERT_TRUE(graph.ok() && wrong_graph.ok());
    bool caught = false;
    for (InputClass input_class : kInputClasses) {
      const std::vector<Tensor> inputs = draw_inputs(*graph, input_class, 3);
      caught |= !compare((*evaluate(*graph, inputs))[0], narrow((*evaluate(*wrong_graph, inputs))[0])).right();
    }
    EXPECT_TRUE(caught) << name;
  }
}

// The cheapest honest kernel: one pass in float32, E[x^2] - mean^2.
Tensor one_pass_layer_norm(const Tensor& x, float epsilon) {
  Tensor y(x.type());
  const std::int64_t length = x.shape()[1];
  for (std::int64_t row = 0; row < x.shape()[0]; ++row) {
    const auto values = x.as<float>().subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
    float sum = 0;
    float squares = 0;
    for (float value : values) {
      sum += value;
      squares += value * value;
    }
    const float mean = sum / static_cast<float>(length);
    const float variance = std::max(squares / static_cast<float>(length) - mean * mean, 0.0f);
    const float inverse = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t at = row * length + k;
      y.as<float>()[static_cast<std::size_t>(at)] = (values[static_cast<std::size_t>(k)] - mean) * inverse;
    }
  }
  return y;
}

TEST(Normalizations, AcceptAOnePassKernel) {
  Task task =
      task_of(*find_op("LayerNormalization"), Sample().input(DType::float32, {40, 700}).constant(tensor_of({1})));
  task.values[0].spread = Spread{.kind = Spread::Kind::normal, .mean = 3, .deviation = 1};
  const auto graph = resolve(task);
  ASSERT_TRUE(graph.ok());
  for (InputClass input_class : kInputClasses) {
    const std::vector<Tensor> inputs = draw_inputs(*graph, input_class, 9);
    const WideTensor expected = (*evaluate(*graph, inputs))[0];
    const Comparison comparison = compare(expected, one_pass_layer_norm(inputs[0], 1e-5f));
    EXPECT_TRUE(comparison.right()) << name_of(input_class) << ": " << comparison.text(expected);
  }
}

}  // namespace
}  // namespace kw::ops
