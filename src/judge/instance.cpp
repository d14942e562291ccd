#include "judge/instance.h"

#include <algorithm>

#include "targets/cpu/call_image.h"
#include "targets/cpu/host/control.h"

namespace kw::judge {

Result<Instance> make_instance(const Task& task, const Lengths& lengths, int threads) {
  Instance instance;
  KW_TRY(instance.graph, ops::resolve(task, lengths));
  targets::CallShape shape{.opset = task.opset, .threads = threads};
  std::uint64_t all_bytes = 0, constant_bytes = 0;
  for (const ops::GraphInput& input : instance.graph.inputs) {
    instance.inputs.push_back(input.type);
    instance.constant.push_back(input.role != Role::input);
    all_bytes += static_cast<std::uint64_t>(input.type.bytes());
    if (input.role != Role::input) constant_bytes += static_cast<std::uint64_t>(input.type.bytes());
  }
  for (std::size_t i = 0; i < instance.graph.outputs.size(); ++i) {
    instance.outputs.push_back(instance.graph.output_type(i));
    all_bytes += static_cast<std::uint64_t>(instance.outputs.back().bytes());
  }
  for (const std::vector<TensorType>* types : {&instance.inputs, &instance.outputs}) {
    for (const TensorType& type : *types) {
      if (type.shape.rank() > KW_MAX_RANK) {
        return fail("{}: a tensor has {} axes; kernels get {} at most", task.name, type.shape.rank(), KW_MAX_RANK);
      }
    }
  }
  if (instance.outputs.size() > host::kMostOutputs ||
      instance.inputs.size() + instance.outputs.size() > host::kMostTensors) {
    return fail("{}: {} tensors; kernels get {} at most, {} of them outputs", task.name,
                instance.inputs.size() + instance.outputs.size(), host::kMostTensors, host::kMostOutputs);
  }
  shape.inputs = instance.inputs;
  shape.outputs = instance.outputs;
  for (const ops::GraphNode& node : instance.graph.nodes) shape.nodes.push_back(node.call.attributes);
  instance.image = targets::call_image(shape);
  if (instance.image.size() > host::kMostImageBytes) {
    return fail("{}: its attributes take more than the {} bytes that a call may have", task.name,
                host::kMostImageBytes);
  }
  // As kernelwright.h promises.
  instance.scratch_bytes = 16 * all_bytes + (std::uint64_t{16} << 20);
  instance.kept_bytes = 4 * constant_bytes + (std::uint64_t{16} << 20);
  return instance;
}

}  // namespace kw::judge
