#include "whole_models/small_model.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <vector>

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

namespace kw {

namespace {

// From protobuf's own text form.
std::string onnx_of(const std::string& text) {
  onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

std::string weight(const std::string& name, const std::vector<int>& shape) {
  std::string text = "initializer { name: '" + name + "' data_type: 1 ";
  int count = 1;
  for (const int length : shape) {
    text += "dims: " + std::to_string(length) + " ";
    count *= length;
  }
  for (int i = 0; i < count; ++i) text += "float_data: " + std::to_string(0.05 * ((i * 7) % 11 - 5)) + " ";
  return text + "} ";
}

std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& attributes = "") {
  std::string text = "node { name: '" + name + "' op_type: '" + op + "' ";
  for (const std::string& input : inputs) text += "input: '" + input + "' ";
  return text + "output: '" + output + "' " + attributes + "} ";
}

std::string float_value(const std::string& name, const std::string& dims) {
  return "{ name: '" + name + "' type { tensor_type { elem_type: 1 shape { " + dims + " } } } } ";
}

}  // namespace

std::string small_model() {
  const std::string x = "dim { dim_param: 'N' } dim { dim_value: 8 } dim { dim_value: 12 } dim { dim_value: 12 }";
  const std::string pads =
      "attribute { name: 'pads' type: INTS ints: 1 ints: 1 ints: 1 ints: 1 } "
      "attribute { name: 'kernel_shape' type: INTS ints: 3 ints: 3 } ";
  return onnx_of("ir_version: 8 opset_import { version: 17 } graph { name: 'small' input " + float_value("x", x) +
                 "output " + float_value("y", x) + "output " + float_value("z", "") + weight("w1", {8, 8, 3, 3}) +
                 weight("b1", {8}) + weight("w2", {8, 8, 3, 3}) + weight("b2", {8}) + weight("m", {12, 5}) +
                 "initializer { name: 'three' data_type: 1 float_data: 3 } " +
                 "initializer { name: 'zero' data_type: 1 float_data: 0 } " +
                 "initializer { name: 'six' data_type: 1 float_data: 6 } " +
                 node("conv1", "Conv", {"x", "w1", "b1"}, "c1", pads) + node("sigmoid1", "Sigmoid", {"c1"}, "s1") +
                 node("mul1", "Mul", {"c1", "s1"}, "a1") + node("conv2", "Conv", {"a1", "w2", "b2"}, "c2", pads) +
                 node("sigmoid2", "Sigmoid", {"c2"}, "s2") + node("mul2", "Mul", {"c2", "s2"}, "a2") +
                 node("residual", "Add", {"x", "a2"}, "r") + node("pool", "MaxPool", {"r"}, "p", pads) +
                 node("shift", "Add", {"p", "three"}, "h1") + node("clip", "Clip", {"h1", "zero", "six"}, "h2") +
                 node("scale", "Mul", {"h2", "p"}, "h3") + node("divide", "Div", {"h3", "six"}, "y") +
                 node("product", "MatMul", {"y", "m"}, "z") + "}");
}

std::string branching_model() {
  const std::string x = "dim { dim_param: 'N' } dim { dim_value: 8 } dim { dim_value: 12 } dim { dim_value: 12 }";
  const std::string pads =
      "attribute { name: 'pads' type: INTS ints: 1 ints: 1 ints: 1 ints: 1 } "
      "attribute { name: 'kernel_shape' type: INTS ints: 3 ints: 3 } ";
  const auto branch = [](const std::string& name, const std::string& graph) {
    return "attribute { name: '" + name + "' type: GRAPH g { name: '" + name + "' " + graph + " } } ";
  };
  const std::string inner = branch("then_branch", node("", "Relu", {"c1"}, "a1") + "output { name: 'a1' }") +
                            branch("else_branch", node("turn", "Neg", {"c1"}, "a1") + "output { name: 'a1' }");
  const std::string first = weight("w2", {8, 8, 3, 3}) + node("conv1", "Conv", {"x", "w1"}, "c1", pads) +
                            node("inner", "If", {"is_two"}, "chosen", inner) +
                            node("conv2", "Conv", {"chosen", "w2"}, "result", pads);
  const std::string second = node("conv1", "Conv", {"x", "w1"}, "c1", pads) + node("sigmoid", "Sigmoid", {"c1"}, "s1") +
                             node("mul", "Mul", {"c1", "s1"}, "a1") +
                             node("conv2", "Conv", {"a1", "w1"}, "result", pads);
  return onnx_of("ir_version: 8 opset_import { version: 17 } graph { name: 'branching' input " + float_value("x", x) +
                 "input { name: 'flag' type { tensor_type { elem_type: 9 shape { } } } } output " +
                 float_value("y", x) + weight("w1", {8, 8, 3, 3}) +
                 "initializer { name: 'zero' data_type: 7 int64_data: 0 } " +
                 "initializer { name: 'two' data_type: 7 int64_data: 2 } " + node("shape", "Shape", {"x"}, "lengths") +
                 node("gather", "Gather", {"lengths", "zero"}, "n") + node("equal", "Equal", {"n", "two"}, "is_two") +
                 node("choose", "If", {"flag"}, "h",
                      branch("then_branch", first + "output { name: 'result' }") +
                          branch("else_branch", second + "output { name: 'result' }")) +
                 node("last", "Sigmoid", {"h"}, "y") + "}");
}

std::string choosing_model() {
  const auto branch = [](const std::string& name, const std::string& graph) {
    return "attribute { name: '" + name + "' type: GRAPH g { name: '" + name + "' " + graph + " } } ";
  };
  const auto open_value = [](const std::string& name) {
    return "{ name: '" + name + "' type { tensor_type { elem_type: 1 } } } ";
  };
  const std::string pool =
      "attribute { name: 'kernel_shape' type: INTS ints: 5 ints: 5 } "
      "attribute { name: 'strides' type: INTS ints: 5 ints: 5 } ";
  return onnx_of(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'choosing' input " +
      float_value("x", "dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_param: 'N' } dim { dim_param: 'N' }") +
      "input { name: 'rate' type { tensor_type { elem_type: 7 shape { } } } } output " + open_value("y") + "output " +
      open_value("z") + "initializer { name: 'sixteen' data_type: 7 int64_data: 16 } " + weight("w", {1}) +
      node("equal", "Equal", {"rate", "sixteen"}, "is_high") +
      node("choose", "If", {"is_high"}, "h' output: 'k",
           branch("then_branch",
                  node("pool", "MaxPool", {"x"}, "a", pool) + "output { name: 'a' } " + "output { name: 'w' }") +
               branch("else_branch",
                      "initializer { name: 'shape' data_type: 7 dims: 3 int64_data: 1 "
                      "int64_data: 1 int64_data: -1 } " +
                          node("flat", "Reshape", {"x", "shape"}, "a") + node("turn", "Neg", {"w"}, "b") +
                          "output { name: 'a' } " + "output { name: 'b' }")) +
      node("last", "Relu", {"h"}, "y") + node("also", "Identity", {"k"}, "z") + "}");
}

std::string quantized_model() {
  const auto bytes = [](const std::string& name, int type, const std::string& dims, int count) {
    std::string text = "initializer { name: '" + name + "' data_type: " + std::to_string(type) + " " + dims;
    for (int i = 0; i < count; ++i)
      text += "int32_data: " + std::to_string((i * 37) % 23 + (type == 3 ? -11 : 40)) + " ";
    return text + "} ";
  };
  const auto scale = [](const std::string& name, const std::string& value) {
    return "initializer { name: '" + name + "' data_type: 1 float_data: " + value + " } ";
  };
  const std::string pads =
      "attribute { name: 'pads' type: INTS ints: 1 ints: 1 ints: 1 ints: 1 } "
      "attribute { name: 'kernel_shape' type: INTS ints: 3 ints: 3 } ";
  return onnx_of(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'quantized' input { name: 'x' type { tensor_type { "
      "elem_type: 2 shape { dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 6 } dim { dim_value: 6 } } } } "
      "} "
      "output " +
      float_value("y", "") + scale("xs", "0.02") + scale("ws", "0.01") + scale("bs", "0.0002") + scale("ys", "0.05") +
      bytes("zero", 2, "", 1) + bytes("wzero", 3, "", 1) + bytes("w", 3, "dims: 3 dims: 4 dims: 3 dims: 3 ", 108) +
      bytes("b", 6, "dims: 3 ", 3) + node("xr", "DequantizeLinear", {"x", "xs", "zero"}, "a") +
      node("wr", "DequantizeLinear", {"w", "ws", "wzero"}, "v") + node("br", "DequantizeLinear", {"b", "bs"}, "c") +
      node("conv", "Conv", {"a", "v", "c"}, "r", pads) + node("yq", "QuantizeLinear", {"r", "ys", "zero"}, "q") +
      node("yr", "DequantizeLinear", {"q", "ys", "zero"}, "y") + "}");
}

std::string looping_model(bool with_shapes) {
  const std::string turn = "type { tensor_type { elem_type: 7 shape { } } }",
                    flag = "type { tensor_type { elem_type: 9 shape { } } }",
                    value = with_shapes ? "type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } } } }"
                                        : "type { tensor_type { elem_type: 1 } }";
  const std::string body = "attribute { name: 'body' type: GRAPH g { name: 'body' input { name: 'i' " + turn +
                           " } input { name: 'going' " + flag + " } input { name: 'v' " + value + " } " +
                           node("double", "Add", {"v", "v"}, "w") + node("go", "Identity", {"going"}, "on") +
                           "output { name: 'on' " + flag + " } output { name: 'w' " + value + " } } } ";
  return onnx_of("ir_version: 8 opset_import { version: 17 } graph { name: 'looping' input " +
                 float_value("x", "dim { dim_value: 4 }") + "output " + float_value("y", "dim { dim_value: 4 }") +
                 "initializer { name: 'three' data_type: 7 int64_data: 3 } " +
                 node("turns", "Loop", {"three", "", "x"}, "y", body) + "}");
}

}  // namespace kw
