// What judges a kernel's outputs on its GPU: our own code (kernels/cuda/judge), and references in float64.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "targets/cuda/builder.h"
#include "targets/cuda/plan.h"
#include "targets/large_shapes.h"

namespace kw::cuda {

class CudaReference final : public targets::DeviceReference {
 public:
  std::uint64_t memory_bytes() const override { return memory; }

  Task task;  // in float64
  targets::Instance instance;
  std::string cubin;
  Plan plan;
  std::uint64_t memory = 0;
};

// Built when first asked for.
class Referee {
 public:
  explicit Referee(Builder& builder) : builder_(builder) {}

  // The machine code that draws and compares.
  Result<std::string> code();
  Result<std::shared_ptr<const CudaReference>> reference_for(const Task& task, const PlanLimits& limits);

 private:
  Result<std::shared_ptr<const CudaReference>> make(const Task& task, const PlanLimits& limits) const;

  Builder& builder_;
  std::mutex lock_;
  std::string code_;
  std::map<std::string, std::shared_ptr<const CudaReference>> references_;
};

// A recipe as the device code takes it: the words of Drawn.
Json json_of(const ops::Recipe& recipe);

}  // namespace kw::cuda
