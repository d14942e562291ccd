// One shape of a task, ready to be called: its graph, and the call as kernels see it.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "ops/graph.h"

namespace kw::judge {

struct Instance {
  ops::Graph graph;
  std::vector<TensorType> inputs;  // of all roles
  std::vector<bool> constant;      // which of them are the same in every call
  std::vector<TensorType> outputs;
  std::vector<std::byte> image;  // of targets/cpu/call_image.h
  std::uint64_t scratch_bytes = 0;
  std::uint64_t kept_bytes = 0;

  std::uint64_t memory_bytes() const { return scratch_bytes + kept_bytes; }
};

// The task must outlive it. Fails where the call does not fit into the contract (more than 8 axes).
Result<Instance> make_instance(const Task& task, const Lengths& lengths, int threads);

}  // namespace kw::judge
