#include "ops/retyped.h"

#include <string>
#include <variant>

#include "ops/onnx_types.h"

namespace kw::ops {
namespace {

Tensor retyped(const Tensor& tensor, DType dtype) {
  if (!is_float(tensor.dtype())) return tensor;
  Tensor other(dtype, tensor.shape());
  for (std::int64_t i = 0; i < tensor.count(); ++i) other.set_real(i, tensor.real(i));
  return other;
}

bool names_a_type(const std::string& attribute) {
  return attribute == "to" || attribute == "dtype" || attribute == "output_dtype";
}

}  // namespace

Task retyped(Task task, DType dtype) {
  for (Value& value : task.values) {
    if (is_float(value.dtype)) value.dtype = dtype;
    value.constant = retyped(value.constant, dtype);
  }
  for (Output& output : task.outputs) {
    if (output.dtype && is_float(*output.dtype)) output.dtype = dtype;
  }
  for (Node& node : task.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute.value)) *tensor = retyped(*tensor, dtype);
      auto* number = std::get_if<std::int64_t>(&attribute.value);
      if (number == nullptr || !names_a_type(name)) continue;
      if (const auto named = dtype_of_onnx(*number); named.ok() && is_float(*named)) *number = onnx_number(dtype);
    }
  }
  return task;
}

}  // namespace kw::ops
