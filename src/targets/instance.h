// One shape of a task, ready to be called.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "ops/graph.h"

namespace kw::targets {

struct Instance {
  ops::Graph graph;
  std::vector<TensorType> inputs;  // of all roles
  std::vector<bool> constant;      // which of them are the same in every call
  std::vector<TensorType> outputs;
  int opset = 0;
  int threads = 1;

  std::uint64_t constant_bytes() const;
  std::uint64_t call_bytes() const;  // of the tensors that every call has of its own
  std::uint64_t all_bytes() const { return constant_bytes() + call_bytes(); }
};

// The task must outlive it.
Result<Instance> make_instance(const Task& task, const Lengths& lengths, int threads);

// What kernelwright.h calls an element type.
int contract_number(DType dtype);

}  // namespace kw::targets
