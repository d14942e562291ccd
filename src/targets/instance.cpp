#include "targets/instance.h"

#include "targets/contract.h"

namespace kw::targets {

Result<Instance> make_instance(const Task& task, const Lengths& lengths, int threads) {
  Instance instance{.opset = task.opset, .threads = threads};
  KW_TRY(instance.graph, ops::resolve(task, lengths));
  for (const ops::GraphInput& input : instance.graph.inputs) {
    instance.inputs.push_back(input.type);
    instance.constant.push_back(input.role != Role::input);
  }
  for (std::size_t i = 0; i < instance.graph.outputs.size(); ++i) {
    instance.outputs.push_back(instance.graph.output_type(i));
  }
  return instance;
}

std::uint64_t Instance::constant_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (constant[i]) bytes += static_cast<std::uint64_t>(inputs[i].bytes());
  }
  return bytes;
}

std::uint64_t Instance::call_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!constant[i]) bytes += static_cast<std::uint64_t>(inputs[i].bytes());
  }
  for (const TensorType& type : outputs) bytes += static_cast<std::uint64_t>(type.bytes());
  return bytes;
}

int contract_number(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return KW_FLOAT32;
    case DType::float64:
      return KW_FLOAT64;
    case DType::float16:
      return KW_FLOAT16;
    case DType::bfloat16:
      return KW_BFLOAT16;
    case DType::int8:
      return KW_INT8;
    case DType::int16:
      return KW_INT16;
    case DType::int32:
      return KW_INT32;
    case DType::int64:
      return KW_INT64;
    case DType::uint8:
      return KW_UINT8;
    case DType::uint16:
      return KW_UINT16;
    case DType::uint32:
      return KW_UINT32;
    case DType::uint64:
      return KW_UINT64;
    case DType::boolean:
      return KW_BOOL;
  }
  return 0;
}

}  // namespace kw::targets
