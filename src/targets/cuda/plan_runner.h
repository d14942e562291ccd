// Runs a kernel's plan, locked up as a kernel of the CPU is (targets/cpu/cell.h): bytes that describe a call go in,
// bytes that say what to launch come out.
#pragma once

#include <memory>
#include <variant>

#include "targets/cpu/call_memory.h"
#include "targets/cpu/locked_kernel.h"
#include "targets/cpu/workshop.h"
#include "targets/cuda/plan.h"

namespace kw::cuda {

class PlanRunner {
 public:
  static Result<std::unique_ptr<PlanRunner>> open(const sandbox::Sandbox& sandbox, const cpu::Library& library);

  Reason finish_loading(targets::Clock::time_point deadline) { return kernel_->finish_loading(deadline); }
  bool varies() const { return kernel_->varies(); }
  // The plan of a call, or why there is none. `constants`: as description_of wants them.
  Result<std::variant<Plan, Reason>> plan(const targets::Instance& instance, const std::vector<std::string>& constants,
                                          const PlanLimits& limits, targets::Clock::time_point deadline);

 private:
  PlanRunner() = default;
  std::unique_ptr<cpu::CallMemory> calls_;
  std::unique_ptr<cpu::LockedKernel> kernel_;
};

}  // namespace kw::cuda
