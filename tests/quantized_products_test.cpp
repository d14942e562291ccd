#include "compose/quantized_products.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suites/catalog.h"

namespace kw::compose {
namespace {

const std::string kFile = KW_SOURCE_DIR "/tests/plain/quantized.toml:";
using Ops = std::vector<std::string>;

Ops joined(
    const Task& task, const Served& served = [](const auto&, const auto&) { return true; }) {
  ops::Graph graph = ops::resolve(task).value();
  join_quantized_products(graph, served);
  Ops names;
  for (const ops::GraphNode& node : graph.nodes) names.push_back(node.call.op->name);
  return names;
}

TEST(QuantizedProducts, AreComputedOnTheIntegers) {
  EXPECT_EQ(joined(*suites::find_task(kFile + "MatMul_between")), (Ops{"QLinearMatMul"}));
  // The bias stays a list of real numbers.
  const Task task = *suites::find_task(kFile + "Conv_between");
  EXPECT_EQ(joined(task), (Ops{"DequantizeLinear", "QLinearConv"}));
  ops::Graph graph = ops::resolve(task).value();
  join_quantized_products(graph, [](const auto&, const auto&) { return true; });
  const ops::GraphNode& conv = graph.nodes.back();
  ASSERT_EQ(conv.inputs.size(), 9u);
  EXPECT_EQ(graph.names[static_cast<std::size_t>(conv.inputs[0])], "x");
  EXPECT_EQ(graph.names[static_cast<std::size_t>(conv.inputs[3])], "w");
  EXPECT_EQ(graph.names[static_cast<std::size_t>(conv.inputs[7])], "yz");
  EXPECT_EQ(conv.call.dtype(8), DType::float32);
  EXPECT_EQ(conv.number, 3) << "it has the attributes of the Conv";
}

TEST(QuantizedProducts, StayWhatTheyAreWhereNothingServesThem) {
  const Task task = *suites::find_task(kFile + "MatMul_between");
  EXPECT_EQ(joined(task, [](const auto&, const auto&) { return false; }).size(), 4u);
}

TEST(QuantizedProducts, WhoseRealNumbersAreReadElsewhereStay) {
  Task task = *suites::find_task(kFile + "MatMul_between");
  task.outputs.push_back({"r", {}, {}});
  EXPECT_EQ(joined(task).size(), 4u);
  task.outputs.back().name = "ra";  // an operand: it is made besides
  EXPECT_EQ(joined(task), (Ops{"DequantizeLinear", "QLinearMatMul"}));
}

TEST(QuantizedProducts, WithAScaleForEachStepOfTheSumStay) {
  Task task = *suites::find_task(kFile + "MatMul_between");
  task.nodes[1].attributes["axis"].value = std::int64_t{0};
  for (Value& value : task.values) {
    if (value.name == "bs" || value.name == "bz") value.lengths = {{19, {}}};
  }
  EXPECT_EQ(joined(task).size(), 4u);
}

}  // namespace
}  // namespace kw::compose
