// This machine's CPU as a device.
#pragma once

#include "targets/cpu/workshop.h"
#include "targets/target.h"

namespace kw::cpu {

// Needs no device.
Result<std::unique_ptr<targets::Calls>> shared_calls();
Result<std::unique_ptr<targets::Outputs>> shared_outputs(const targets::Calls& calls);

// Fails where the calls of this shape hold more axes, tensors or attributes than the contract allows.
Status fits_the_contract(const targets::Instance& instance);

class CpuDevice final : public targets::Device {
 public:
  static Result<std::unique_ptr<targets::Device>> open(const std::string& name);
  static Result<std::unique_ptr<CpuDevice>> open_cpu();

  std::string name() const override { return "cpu"; }
  std::string isolation() const override { return workshop_.sandbox().isolation().name(); }
  Status accepts(const targets::Instance& instance) const override;
  Result<std::unique_ptr<const targets::Built>> build(const Source& source, const Choice& choice) override {
    return build_from(source, source, choice);
  }
  // Of a source that was made from a user's: messages show the user's lines.
  Result<std::unique_ptr<const targets::Built>> build_from(const Source& source, const Source& written,
                                                           const Choice& choice);
  Result<std::unique_ptr<targets::Calls>> make_calls() override { return shared_calls(); }
  Result<std::unique_ptr<targets::Outputs>> make_outputs(const targets::Calls& calls) override {
    return shared_outputs(calls);
  }
  Result<std::unique_ptr<targets::LoadedKernel>> load(const targets::Built& built, const targets::Calls& calls,
                                                      const targets::Limits& limits) override;
  std::unique_ptr<targets::Turn> take_turn(int threads) override;
  std::uint64_t group_bytes() const override;
  std::size_t most_calls() const override;
  std::optional<double> least_time_ns(const Cost& cost, int threads) const override;
  bool alive() override;
  std::vector<targets::IsolationPart> isolation_parts() const override;
  Result<targets::CodeNotes> look_into(const targets::Built& built,
                                       const targets::CodeQuestion& question) const override;

 private:
  explicit CpuDevice(Workshop workshop) : workshop_(std::move(workshop)) {}

  Workshop workshop_;
};

}  // namespace kw::cpu
