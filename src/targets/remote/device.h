// A phone, a board or an emulator as a device (address.h).
#pragma once

#include "targets/remote/builder.h"
#include "targets/remote/connect.h"
#include "targets/remote/workers.h"
#include "targets/target.h"

namespace kw::remote {

class RemoteDevice final : public targets::Device {
 public:
  static Result<std::unique_ptr<targets::Device>> open(const std::string& name);

  std::string name() const override { return address_.name; }
  std::string isolation() const override;
  Status accepts(const targets::Instance& instance) const override;
  Result<std::unique_ptr<const targets::Built>> build(const targets::Source& source, const Choice& choice) override;
  Result<std::unique_ptr<targets::Calls>> make_calls() override;
  Result<std::unique_ptr<targets::Outputs>> make_outputs(const targets::Calls& calls) override;
  Result<std::unique_ptr<targets::LoadedKernel>> load(const targets::Built& built, const targets::Calls& calls,
                                                      const targets::Limits& limits) override;
  std::unique_ptr<targets::Turn> take_turn(int threads) override;
  std::uint64_t group_bytes() const override;
  // Each call's inputs travel.
  std::size_t most_calls() const override { return 64; }
  std::optional<double> least_time_ns(const Cost& cost, int threads) const override;
  bool claims_speed() const override { return address_.kind != Address::Kind::emulated; }
  bool alive() override { return !connected_.connection->broken() && builder_->sandbox().alive(); }
  std::vector<targets::IsolationPart> isolation_parts() const override;
  targets::WorkerHost* workers() override { return workers_.get(); }
  Result<targets::CodeNotes> look_into(const targets::Built& built,
                                       const targets::CodeQuestion& question) const override;

  Connection& connection() { return *connected_.connection; }

 private:
  RemoteDevice(Address address, std::unique_ptr<Builder> builder, Connected connected)
      : address_(std::move(address)), builder_(std::move(builder)), connected_(std::move(connected)) {
    // The sandbox around an emulator has no files, and so no frameworks.
    if (address_.kind == Address::Kind::emulated) return;
    workers_ = std::make_unique<DeviceWorkers>(connected_.connection, connected_.architecture, *builder_);
  }

  bool filters() const { return connected_.connection->facts().text("filters") == "yes"; }

  Address address_;
  std::unique_ptr<Builder> builder_;
  Connected connected_;
  std::unique_ptr<DeviceWorkers> workers_;
};

}  // namespace kw::remote
