// A whole model as a list of kernels to call one after the other, with a place in memory for every tensor: what a
// program without any framework needs to know before it runs.
//
// Results in between share one block of memory: each gets a place that nothing else uses from the step that makes it to
// the last one that reads it. What only gives a tensor another shape costs nothing: both are the same memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/tensor.h"
#include "models/model.h"
#include "models/plan.h"

namespace kw::models {

// Nodes that one kernel computes.
struct Unit {
  std::vector<std::size_t> nodes;
  KindKernel kernel;
  std::string kind;  // units of one kind share the kernel; empty: by what their nodes have in common
};

struct PlannedTensor {
  enum class Place { input, output, constant, memory } place = Place::memory;
  std::string name;
  TensorType type;
  std::int64_t at = 0;  // the number of the model's input or output; bytes into the weights or the memory
};

struct PlannedKernel {
  std::string symbol;  // "Conv_Relu_3"
  Task task;           // of the first unit that it is for
  KindKernel kernel;
};

struct PlannedUnit {
  int kernel = -1;  // -1: the first tensor is copied to the second
  std::vector<int> inputs, outputs;
  std::string about;
};

struct StandalonePlan {
  std::vector<PlannedTensor> tensors;
  std::vector<PlannedKernel> kernels;
  std::vector<PlannedUnit> units;  // in computing order
  std::string weights;             // the bytes of all constants
  std::int64_t memory_bytes = 0;
  std::int64_t unshared_bytes = 0;   // what results in between would take without sharing memory
  std::vector<int> inputs, outputs;  // the model's: tensors
};

// `found` are kernels that are used for their nodes, of two that overlap the first; all other nodes get the first
// technique that serves them and what follows them, or the plain kernel. An Error names the nodes that cannot be
// expressed, and why.
Result<StandalonePlan> standalone_plan(const Model& model, const std::vector<Unit>& found, const std::string& device);

// Places for intervals of steps, both ends included: a byte offset for each, so that no two that overlap in time
// overlap in memory. The bytes that all of them take.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
};
std::int64_t share_memory(const std::vector<Lifetime>& all, std::vector<std::int64_t>& places);

}  // namespace kw::models
