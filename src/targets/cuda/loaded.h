// A CUDA kernel on its GPU, as the judge sees it.
#pragma once

#include "targets/cuda/builder.h"
#include "targets/cuda/calls.h"
#include "targets/cuda/plan_runner.h"
#include "targets/cuda/referee.h"
#include "targets/cuda/worker_process.h"
#include "targets/target.h"

namespace kw::cuda {

class LoadedCuda final : public targets::LoadedKernel, private targets::Outputs {
 public:
  static Result<std::unique_ptr<LoadedCuda>> open(WorkerPool& pool, const sandbox::Sandbox& sandbox,
                                                  const CudaBuilt& built, Referee& referee);
  // In a process that is the kernel's own from the beginning, whose tensors lie exactly where the driver's tools see
  // their ends.
  static Result<std::unique_ptr<LoadedCuda>> open_under_tools(WorkerPool& pool, const sandbox::Sandbox& sandbox,
                                                              const CudaBuilt& built, Referee& referee,
                                                              std::unique_ptr<WorkerProcess> worker);
  ~LoadedCuda() override;

  Reason finish_loading(Clock::time_point deadline) override;
  bool varies() const override { return plans_->varies(); }
  Result<Reason> arrange(const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override;
  Reason poison_scratch(std::uint8_t value, Clock::time_point deadline) override;
  Reason run(std::size_t first, std::size_t count, Clock::time_point deadline) override;
  targets::Outputs& outputs() override { return *this; }
  targets::FoundShape found_shape(std::size_t call, std::size_t output) const override;
  Reason behaviour() override { return {}; }

  // Ends its process in peace.
  void finish(Clock::time_point deadline) { worker_->finish(deadline); }
  // Brings what changed of the first calls' inputs to the GPU.
  Reason write_inputs(std::size_t calls, Clock::time_point deadline);
  // As LargeShapes::check.
  Result<targets::Checked> check(const CudaReference& reference, std::size_t first, std::size_t count,
                                 std::span<const targets::OutputBound> bounds, Clock::time_point deadline);
  // What a framework left for a call takes the place of the kernel's own outputs.
  Reason put(std::size_t call, const FrameworkOutputs& theirs, Clock::time_point deadline);
  // Of calls [first, first + count); none of them is possible too.
  targets::Lap time(std::size_t first, std::size_t count, targets::Warmth warmth, Clock::time_point deadline);

 private:
  LoadedCuda(WorkerPool& pool, const CudaBuilt& built, Referee& referee)
      : pool_(pool), referee_(referee), cubin_(built.cubin) {}

  void poison(std::size_t call, std::uint8_t value, bool around) override;
  Reason overrun(std::size_t call, std::uint8_t value) const override;
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override;

  // What came of a request; *answer is its answer.
  Reason ask(const Json& request, std::span<const int> files, Clock::time_point deadline, Json* answer = nullptr) const;
  PlanLimits limits_for(const targets::Instance& instance) const;

  WorkerPool& pool_;
  Referee& referee_;
  std::string cubin_;
  bool under_tools_ = false;
  std::unique_ptr<WorkerProcess> worker_;
  std::unique_ptr<PlanRunner> plans_;
  Json facts_;
  const CudaCalls* calls_ = nullptr;
  const targets::Instance* instance_ = nullptr;
  std::vector<std::uint64_t> written_;    // by slot: the version that is on the GPU
  mutable Json waiting_ = Json::array();  // requests without an answer of their own, to go before the next one
  mutable SharedMemory output_memory_;
  std::map<std::pair<std::size_t, std::size_t>, targets::FoundShape> shapes_;
};

}  // namespace kw::cuda
