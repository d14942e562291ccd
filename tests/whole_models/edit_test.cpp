#include "suites/onnx_rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "whole_models/small_model.h"

namespace kw::suites {
namespace {

OnnxModel small() {
  auto model = parse_onnx(small_model(), "small.onnx");
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

OnnxModel edited(const OnnxEdit& edit) {
  const auto bytes = edit_onnx(small(), small_model(), edit);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  auto model = parse_onnx(*bytes, "edited.onnx");
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

TEST(EditOnnx, NumbersNodesAndTheirResults) {
  const OnnxModel model = edited({.number_names = true});
  EXPECT_EQ(model.nodes[1].node.name, "kwn1");
  EXPECT_EQ(model.nodes[1].node.inputs[0], "kwn0_0");
  EXPECT_EQ(model.nodes[11].node.outputs[0], "y");  // an output of the model
}

TEST(EditOnnx, FindsTheNumberInWhatARuntimeMakesOfAName) {
  EXPECT_EQ(number_in_name("kwn17_0_nchwc"), 17);
  EXPECT_EQ(number_in_name("fused kwn3"), 3);
  EXPECT_EQ(number_in_name("ReorderOutput_token_4"), -1);
  EXPECT_EQ(number_in_name("kwn"), -1);
  EXPECT_EQ(number_in_name("kwn99999999999999999999"), -1);
}

TEST(EditOnnx, FixesOpenLengths) {
  const OnnxModel model = edited({.dims = {{"N", 5}}});
  EXPECT_EQ((*model.inputs[0].lengths)[0].value, 5);
  EXPECT_TRUE((*model.inputs[0].lengths)[0].name.empty());
}

TEST(EditOnnx, PutsOneNodeInPlaceOfSeveral) {
  const OnnxReplacement one{
      .nodes = {0, 1, 2},
      .op = "Conv_SiLU",
      .name = "first",
      .inputs = {"x", "w1", "b1"},
      .outputs = {"a1"},
      .output_types = {{DType::float32, Shape{2, 8, 12, 12}}},
      .constants = {{"w1", Tensor(DType::float32, Shape{8, 8, 3, 3})}, {"b1", Tensor(DType::float32, Shape{8})}}};
  const OnnxModel model = edited({.replacements = {one}, .domain = "mine"});
  ASSERT_EQ(model.nodes.size(), 11u);
  const auto found = std::ranges::find(model.nodes, "Conv_SiLU", [](const OnnxNode& node) { return node.node.op; });
  ASSERT_NE(found, model.nodes.end());
  EXPECT_EQ(found->node.inputs, (std::vector<std::string>{"x", "w1", "b1"}));  // initializers of the model stay
  EXPECT_NE(found->unsupported.find("'mine'"), std::string::npos);
  EXPECT_TRUE(model.values.contains("a1"));  // with its type
}

TEST(EditOnnx, WritesWhatIsConstantWithTheseLengthsAsAnInitializer) {
  Tensor folded(DType::float32, Shape{2});
  folded.set_real(1, 7);
  const OnnxReplacement one{.nodes = {12},
                            .op = "Product",
                            .name = "last",
                            .inputs = {"y", "h3"},
                            .outputs = {"z"},
                            .output_types = {{DType::float32, Shape{1}}},
                            .constants = {{"h3", folded}}};
  const OnnxModel model = edited({.replacements = {one}, .domain = "mine"});
  const std::string name = model.nodes.back().node.inputs[1];
  EXPECT_NE(name, "h3");
  EXPECT_EQ(model.initializers.at(name).real(1), 7);
}

TEST(EditOnnx, RefusesTwoReplacementsOfOneNode) {
  const OnnxReplacement one{.nodes = {2}, .op = "A", .name = "", .inputs = {}, .outputs = {}, .output_types = {}};
  const auto bytes = edit_onnx(small(), small_model(), {.replacements = {one, one}, .domain = "mine"});
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message.find("node #2 (Mul 'mul1') is replaced twice"), std::string::npos)
      << bytes.error().message;
}

}  // namespace
}  // namespace kw::suites
