// Frameworks on a device behind a link: their processes, which the agent starts and speaks to, and the outputs that
// they write.
#pragma once

#include "targets/remote/builder.h"
#include "targets/remote/calls.h"
#include "targets/worker.h"

namespace kw::remote {

// The outputs of some calls as a framework writes them: a file of the agent's, laid out as the calls are.
class DeviceOutputs final : public targets::Outputs {
 public:
  DeviceOutputs(std::shared_ptr<Connection> connection, const DeviceCalls& calls);
  ~DeviceOutputs() override { connection_->post(Ask::forget, id_, {}); }

  void poison(std::size_t call, std::uint8_t value, bool around) override;
  // Frameworks are trusted to keep to their outputs.
  Reason overrun(std::size_t, std::uint8_t) const override { return {}; }
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override;

  std::uint32_t id() const { return id_; }

 private:
  std::shared_ptr<Connection> connection_;
  std::uint32_t id_;
  std::vector<std::vector<cpu::Buffer>> calls_;
};

class DeviceWorkers final : public targets::WorkerHost {
 public:
  DeviceWorkers(std::shared_ptr<Connection> connection, const Architecture& architecture, Builder& builder)
      : connection_(std::move(connection)), architecture_(architecture), builder_(builder) {}

  std::string folder() const override;
  std::string architecture() const override { return architecture_.machines.front(); }
  void put(const std::string& path, std::span<const char> bytes) override;
  Result<std::unique_ptr<targets::Worker>> start(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& variables) override;
  Result<std::string> native_runner() override;

 private:
  std::shared_ptr<Connection> connection_;
  Architecture architecture_;
  Builder& builder_;
};

}  // namespace kw::remote
