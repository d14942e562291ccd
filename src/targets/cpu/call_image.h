// A call of a kernel as one block of bytes that can be sent to another process: the structures of kernelwright.h laid
// out with offsets in place of pointers. The process that runs the kernel copies the block, turns the offsets into
// pointers with `settle` (host/settle.h) and puts in where tensors and scratch memory lie. Its addresses may have 32
// bits where ours have 64 (host/call_layout.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/tensor.h"
#include "targets/contract.h"
#include "targets/cpu/host/settle.h"
#include "targets/instance.h"

namespace kw::targets {

struct CallShape {
  std::vector<TensorType> inputs;  // of all roles, in the task's order
  std::vector<TensorType> outputs;
  std::vector<Attributes> nodes;
  int opset = 17;
  int threads = 1;
};

std::vector<std::byte> call_image(const CallShape& shape, int address_bits = 64);
// The call of an instance.
std::vector<std::byte> image_of(const Instance& instance, int address_bits = 64);

}  // namespace kw::targets
