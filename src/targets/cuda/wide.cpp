#include "targets/cuda/wide.h"

#include "targets/cuda/writer.h"

namespace kw::cuda {
namespace {

Tensor widened(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return tensor;
  Tensor wide(DType::float64, tensor.shape());
  for (std::int64_t i = 0; i < tensor.count(); ++i) wide.set_real(i, tensor.real(i));
  return wide;
}

DType widened(DType dtype) { return is_float(dtype) ? DType::float64 : dtype; }

// ONNX's numbers of its types of floats.
bool is_onnx_float(std::int64_t type) { return type == 1 || type == 10 || type == 11 || type == 16; }
constexpr std::int64_t kOnnxDouble = 11;

}  // namespace

Result<Task> wide_task(const Task& task) {
  Task wide = task;
  wide.name += "_wide";
  for (Value& value : wide.values) {
    value.dtype = widened(value.dtype);
    value.constant = widened(value.constant);
  }
  for (Output& output : wide.outputs) {
    if (output.dtype) output.dtype = widened(*output.dtype);
  }
  for (Node& node : wide.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute.value)) *tensor = widened(*tensor);
      auto* number = std::get_if<std::int64_t>(&attribute.value);
      if (number == nullptr || (name != "to" && name != "dtype" && name != "output_dtype")) continue;
      if (is_onnx_float(*number)) *number = kOnnxDouble;
    }
  }
  KW_TRY(const ops::Graph graph, ops::resolve(wide));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    if (type.from_values) return fail("{}: values decide the shape of a result", task.name);
    if (is_float(type.dtype) && type.dtype != DType::float64) {
      return fail("{}: {} has no reference in float64", task.name, task.operators());
    }
  }
  return wide;
}

Result<std::string> wide_kernel(const ops::Graph& wide) {
  KW_TRY(Writer writer, Writer::open(wide));
  writer.prefer_references();
  return writer.write(Choices(wide.nodes.size(), nullptr), "a reference in float64.");
}

}  // namespace kw::cuda
