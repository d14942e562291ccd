#include "lm/onnx_linear.h"

#include <string_view>
#include <vector>

namespace kw::lm {
namespace {

// The fields of onnx.proto that are used here, by message.
enum Model { kIrVersion = 1, kProducer = 2, kGraph = 7, kOpsets = 8 };
enum Opset { kOpsetVersion = 2 };
enum Graph { kNodes = 1, kGraphName = 2, kInitializers = 5, kInputs = 11, kOutputs = 12 };
enum Node { kNodeInputs = 1, kNodeOutputs = 2, kNodeName = 3, kOpType = 4, kAttributes = 5 };
enum Attribute { kAttributeName = 1, kInteger = 3, kAttributeType = 20 };
enum Tensor { kDims = 1, kElementType = 2, kTensorName = 8, kRawData = 9 };
enum ValueInfo { kValueName = 1, kValueType = 2 };
enum Type { kTensorType = 1 };
enum TensorType { kElement = 1, kShape = 2 };
enum Shape { kDimensions = 1 };
enum Dimension { kDimValue = 1, kDimName = 2 };

constexpr std::int64_t kFloat = 1, kInt64 = 7, kIntegerAttribute = 2;
constexpr std::int64_t kIr = 8, kOpset = 17;

// A message of protobuf: numbers as varints, all else with its length before it.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view bytes) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  std::string take() { return std::move(bytes_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

template <class T>
Message tensor(const char* name, std::int64_t type, const std::vector<std::int64_t>& shape, std::span<const T> values) {
  Message made;
  for (const std::int64_t size : shape) made.number(kDims, size);
  made.number(kElementType, type).text(kTensorName, name);
  return made.text(kRawData, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

Message value(const char* name, std::int64_t columns) {
  Message tokens, width, shape, type, outer, made;
  shape.message(kDimensions, tokens.text(kDimName, "tokens")).message(kDimensions, width.number(kDimValue, columns));
  outer.message(kTensorType, type.number(kElement, kFloat).message(kShape, shape));
  return made.text(kValueName, name).message(kValueType, outer);
}

Message node(const char* op, const std::vector<const char*>& inputs, const char* output, const char* attribute,
             std::int64_t setting) {
  Message made, set;
  for (const char* input : inputs) made.text(kNodeInputs, input);
  made.text(kNodeOutputs, output).text(kNodeName, output).text(kOpType, op);
  if (attribute == nullptr) return made;
  set.text(kAttributeName, attribute).number(kInteger, setting).number(kAttributeType, kIntegerAttribute);
  return made.message(kAttributes, set);
}

}  // namespace

std::string onnx_model(const OnnxLinear& linear) {
  Message graph;
  const bool pivot = !linear.rows.empty(), bias = !linear.bias.empty();
  const auto add = [&](const Message& one) { graph.message(kNodes, one); };
  add(node("Gemm", {"x", "down"}, "h", "transB", 1));
  if (pivot) {
    add(node("Gemm", {"h", "up"}, "others", "transB", 1));
    add(node("Concat", {"h", "others"}, "all", "axis", 1));
    add(node("Gather", {"all", "rows"}, bias ? "gathered" : "y", "axis", 1));
    if (bias) add(node("Add", {"gathered", "bias"}, "y", nullptr, 0));
  } else if (bias) {
    add(node("Gemm", {"h", "up", "bias"}, "y", "transB", 1));
  } else {
    add(node("Gemm", {"h", "up"}, "y", "transB", 1));
  }
  graph.text(kGraphName, linear.name);
  graph.message(kInitializers, tensor("down", kFloat, {linear.rank, linear.inputs}, linear.down));
  const std::int64_t made = pivot ? linear.outputs - linear.rank : linear.outputs;
  graph.message(kInitializers, tensor("up", kFloat, {made, linear.rank}, linear.up));
  if (pivot) graph.message(kInitializers, tensor("rows", kInt64, {linear.outputs}, linear.rows));
  if (bias) graph.message(kInitializers, tensor("bias", kFloat, {linear.outputs}, linear.bias));
  graph.message(kInputs, value("x", linear.inputs)).message(kOutputs, value("y", linear.outputs));
  Message opset, model;
  model.number(kIrVersion, kIr).text(kProducer, "kernelwright").message(kGraph, graph);
  return model.message(kOpsets, opset.number(kOpsetVersion, kOpset)).take();
}

}  // namespace kw::lm
