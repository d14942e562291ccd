// A GPU emulated on this machine's CPU: "cuda:emulated". CUDA kernels are judged by every rule but speed, without a
// GPU.
#pragma once

#include "targets/cpu/device.h"

namespace kw::cuda {

inline constexpr char kEmulated[] = "cuda:emulated";

class EmulatedCuda final : public targets::Device {
 public:
  static Result<std::unique_ptr<targets::Device>> open();

  std::string name() const override { return kEmulated; }
  std::string isolation() const override { return cpu_->isolation(); }
  Status accepts(const targets::Instance& instance) const override { return cpu_->accepts(instance); }
  Result<std::unique_ptr<const targets::Built>> build(const targets::Source& source, const Choice& choice) override;
  Result<std::unique_ptr<targets::Calls>> make_calls() override { return cpu_->make_calls(); }
  Result<std::unique_ptr<targets::Outputs>> make_outputs(const targets::Calls& calls) override {
    return cpu_->make_outputs(calls);
  }
  Result<std::unique_ptr<targets::LoadedKernel>> load(const targets::Built& built, const targets::Calls& calls,
                                                      const targets::Limits& limits) override {
    return cpu_->load(built, calls, limits);
  }
  std::unique_ptr<targets::Turn> take_turn(int) override { return cpu_->take_turn(1); }
  std::uint64_t group_bytes() const override { return cpu_->group_bytes(); }
  std::size_t most_calls() const override { return cpu_->most_calls(); }
  std::optional<double> least_time_ns(const Cost&, int) const override { return std::nullopt; }
  bool claims_speed() const override { return false; }
  bool alive() override { return cpu_->alive(); }
  std::vector<targets::IsolationPart> isolation_parts() const override { return cpu_->isolation_parts(); }

 private:
  explicit EmulatedCuda(std::unique_ptr<cpu::CpuDevice> cpu) : cpu_(std::move(cpu)) {}

  std::unique_ptr<cpu::CpuDevice> cpu_;
};

}  // namespace kw::cuda
