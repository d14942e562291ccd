#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

TEST(Conv, SlidesTheKernelWithoutTurningIt) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 1, 4});
  const Tensor w = tensor_of({1, 10}, {1, 1, 2});
  EXPECT_EQ(numbers("Conv", on(x, w)), (Numbers{21, 32, 43}));
  EXPECT_EQ(numbers("Conv", on(x, w).attribute("strides", Integers{2}).attribute("pads", Integers{1, 0})),
            (Numbers{10, 32}));
  EXPECT_EQ(numbers("Conv", on(x, w).attribute("dilations", Integers{2})), (Numbers{31, 42}));
}

TEST(Conv, KeepsGroupsApartAndAddsTheBias) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 2, 2});
  const Tensor w = tensor_of({10, 100}, {2, 1, 1});
  const Tensor b = tensor_of({0.5, 0.25});
  EXPECT_EQ(numbers("Conv", on(x, w, b).attribute("group", 2)), (Numbers{10.5, 20.5, 300.25, 400.25}));
}

TEST(Conv, RefusesShapesThatDoNotFit) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 2, 2});
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 3, 1}))));
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 2, 3}))));
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 2}))));
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 2, 1})).attribute("group", 0)));
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 2, 1}), zeros({2}))));
  EXPECT_TRUE(refused("Conv", on(x, zeros({1, 2, 1})).attribute("kernel_shape", Integers{2})));
}

TEST(ConvTranspose, SpreadsEveryElementOverAWindow) {
  const Tensor x = tensor_of({1, 2, 3}, {1, 1, 3});
  const Tensor w = tensor_of({1, 10}, {1, 1, 2});
  EXPECT_EQ(numbers("ConvTranspose", on(x, w)), (Numbers{1, 12, 23, 30}));
  EXPECT_EQ(
      numbers("ConvTranspose", on(x, w).attribute("strides", Integers{3}).attribute("output_padding", Integers{1})),
      (Numbers{1, 10, 0, 2, 20, 0, 3, 30, 0}));
  EXPECT_EQ(numbers("ConvTranspose", on(x, w).attribute("pads", Integers{1, 0})), (Numbers{12, 23, 30}));
}

TEST(Conv, CarriesTheSlackOfItsInputs) {
  WideTensor x(TensorType{DType::float32, {1, 1, 3}});
  x.reals = {1, 2, 3};
  x.slack = {0.5, 0, 0.25};
  WideTensor w(TensorType{DType::float32, {1, 1, 2}});
  w.reals = {-2, 1};
  Task task = task_of(*find_op("Conv"), Sample().input(DType::float32, x.shape).input(DType::float32, w.shape));
  const Graph graph = *resolve(task);
  std::vector<WideTensor> out{WideTensor(graph.output_type(0))};
  const std::vector<const WideTensor*> in{&x, &w};
  ASSERT_TRUE(find_op("Conv")->reference(graph.nodes[0].call, in, out).ok());
  EXPECT_NEAR(out[0].slack[0], 1.0, 1e-3);
  EXPECT_NEAR(out[0].slack[1], 0.25, 1e-3);
}

}  // namespace
}  // namespace kw::ops
