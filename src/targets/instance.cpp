#include "targets/instance.h"

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

}  // namespace kw::targets
