// A call of a kernel as one block of bytes that can be sent to another process: the structures of kernelwright.h laid
// out with offsets in place of pointers. Whoever runs the kernel copies the block, turns the offsets into pointers with
// `settle` and puts in where tensors and scratch memory lie.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/tensor.h"
#include "targets/contract.h"
#include "targets/instance.h"

namespace kw::targets {

struct CallShape {
  std::vector<TensorType> inputs;  // of all roles, in the task's order
  std::vector<TensorType> outputs;
  std::vector<Attributes> nodes;
  int opset = 17;
  int threads = 1;
};

std::vector<std::byte> call_image(const CallShape& shape);
// The call of an instance.
std::vector<std::byte> image_of(const Instance& instance);

// Turns offsets into pointers, in place. Header only: the process that holds the candidate needs nothing else of this.
inline kw_call* settle(std::byte* image) {
  const auto pointer = [image](auto*& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    field = field == nullptr ? nullptr : reinterpret_cast<Field>(image + reinterpret_cast<std::size_t>(field));
  };
  auto* call = reinterpret_cast<kw_call*>(image);
  pointer(call->inputs);
  pointer(call->outputs);
  pointer(call->attributes);
  for (int i = 0; i < call->attribute_count; ++i) {
    auto& attribute = const_cast<kw_attribute&>(call->attributes[i]);
    pointer(attribute.name);
    pointer(attribute.integers);
    pointer(attribute.reals);
    pointer(attribute.texts);
    for (int k = 0; attribute.texts != nullptr && k < attribute.count; ++k) {
      pointer(const_cast<const char*&>(attribute.texts[k]));
    }
  }
  return call;
}

}  // namespace kw::targets
