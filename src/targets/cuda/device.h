// A GPU as a device: "cuda" or "cuda:0", "cuda:1" ...
#pragma once

#include "targets/cuda/builder.h"
#include "targets/cuda/referee.h"
#include "targets/cuda/sass.h"
#include "targets/cuda/worker_process.h"
#include "targets/target.h"

namespace kw::cuda {

// What NVRTC builds for, of a worker's facts of its GPU: "sm_90a". Without a GPU the usual one.
std::string architecture_of(const Json& facts);

class CudaDevice final : public targets::Device, public targets::LargeShapes {
 public:
  // Also where there is no GPU: then it builds, and whatever wants to run says why it cannot.
  static Result<std::unique_ptr<targets::Device>> open(const std::string& name);

  std::string name() const override { return name_; }
  std::string isolation() const override { return builder_.sandbox().isolation().name(); }
  Status accepts(const targets::Instance& instance) const override;
  Result<std::unique_ptr<const targets::Built>> build(const targets::Source& source, const Choice& choice) override;
  Result<std::unique_ptr<targets::Calls>> make_calls() override;
  Result<std::unique_ptr<targets::Outputs>> make_outputs(const targets::Calls& calls) override;
  Result<std::unique_ptr<targets::LoadedKernel>> load(const targets::Built& built, const targets::Calls& calls,
                                                      const targets::Limits& limits) override;
  std::unique_ptr<targets::Turn> take_turn(int threads) override;
  std::uint64_t group_bytes() const override;
  // A graph's launch costs little beside even this many short calls, and inputs are drawn for each.
  std::size_t most_calls() const override { return 17; }
  bool times_cold_and_warm() const override { return true; }
  Result<std::vector<targets::ToolFindings>> sanitize(const targets::Built& built,
                                                      std::span<const targets::SanitizedCall> calls) override;
  std::optional<double> least_time_ns(const Cost& cost, int threads) const override;
  bool alive() override;
  Result<targets::CodeNotes> look_into(const targets::Built& built, const targets::CodeQuestion&) const override {
    const auto& kernel = dynamic_cast<const CudaBuilt&>(built);
    return notes_on(kernel.resources, kernel.cubin);
  }

  std::uint64_t device_memory_bytes() const override;
  Result<std::shared_ptr<const targets::DeviceReference>> reference_for(const Task& task) override;
  Status lay_out(targets::Calls& calls, const targets::Instance& instance, std::span<const targets::Placement> places,
                 const ops::Parts& parts) override;
  void write(targets::Calls& calls, std::size_t call, const ops::Parts& parts) override;
  Result<targets::Checked> check(targets::LoadedKernel& kernel, const targets::DeviceReference& reference,
                                 std::size_t first, std::size_t count, std::span<const targets::OutputBound> bounds,
                                 Clock::time_point deadline) override;
  Result<targets::Checked> check_framework(const targets::Outputs& theirs, targets::LoadedKernel& kernel,
                                           const targets::DeviceReference& reference, std::size_t call,
                                           std::span<const targets::OutputBound> bounds,
                                           Clock::time_point deadline) override;

 private:
  CudaDevice(std::string name, int number, Json facts, Builder builder)
      : name_(std::move(name)),
        number_(number),
        facts_(std::move(facts)),
        builder_(std::move(builder)),
        referee_(builder_),
        pool_(number) {}

  std::string name_;
  int number_;
  Json facts_;  // empty: there is no GPU
  Builder builder_;
  Referee referee_;
  WorkerPool pool_;
};

}  // namespace kw::cuda
