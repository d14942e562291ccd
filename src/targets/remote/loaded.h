// A kernel in its process on a device, as the judge sees it.
#pragma once

#include <map>

#include "targets/remote/builder.h"
#include "targets/remote/calls.h"
#include "targets/target.h"

namespace kw::remote {

class LoadedOnDevice final : public targets::LoadedKernel, private targets::Outputs {
 public:
  // `times_slower`: how many times slower than hardware the device is; time limits are longer by this factor.
  LoadedOnDevice(std::shared_ptr<Connection> connection, const Architecture& architecture, const DeviceBuilt& built,
                 const DeviceCalls& calls, const targets::Limits& limits, int times_slower);
  ~LoadedOnDevice() override;

  Reason finish_loading(Clock::time_point deadline) override;
  bool varies() const override { return control_->varies != 0; }
  Result<Reason> arrange(const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override;
  Reason poison_scratch(std::uint8_t value, Clock::time_point deadline) override;
  Reason run(std::size_t first, std::size_t count, Clock::time_point deadline) override;
  std::optional<Reason> run_watched(std::size_t call, Clock::time_point deadline) override;
  targets::Outputs& outputs() override { return *this; }
  targets::FoundShape found_shape(std::size_t call, std::size_t output) const override;
  std::optional<std::uint64_t> memory_held() const override;
  Reason behaviour() override;

  // In turns of timing.
  Reason make_ready(std::size_t count, std::optional<std::size_t> warm_call, bool warm, double* warm_ns,
                    Clock::time_point deadline);
  targets::Lap time(std::size_t count, Settle settle, Clock::time_point deadline);
  bool watches_clock() const { return watches_clock_; }

 private:
  // What a call left, as far as it came with the answer to its run.
  struct Left {
    bool known = false;
    Reason overrun;
    std::uint8_t poison = 0;  // that `overrun` was looked for with
    std::vector<std::vector<char>> outputs;
  };

  void poison(std::size_t call, std::uint8_t value, bool around) override;
  Reason overrun(std::size_t call, std::uint8_t value) const override;
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override;

  // The answer to a request; none where the reason says why. Keeps what the process says of itself.
  std::optional<Answer> ask(Ask ask, const Message& message, Clock::time_point deadline, Reason* reason,
                            std::uint64_t most_read = 0) const;
  Reason run(std::size_t first, std::size_t count, bool watched, Clock::time_point deadline);
  // What is left until then, in the device's time.
  std::uint32_t most_ms(Clock::time_point deadline) const;
  // What calls returned, and the shapes that they found.
  Reason note_calls(std::size_t first, std::size_t count, const Answer& answer);
  Reason registers() const;
  // Around the outputs of a call, in their order before and after each, where there is something.
  std::vector<Place> around(std::size_t call, std::uint8_t value, std::vector<Reason>* meaning) const;

  std::shared_ptr<Connection> connection_;
  Architecture architecture_;
  const DeviceBuilt& built_;
  std::uint32_t id_, inputs_;
  targets::Limits limits_;
  int times_slower_;
  const DeviceCalls* calls_ = nullptr;
  const targets::Instance* instance_ = nullptr;
  std::unique_ptr<host::Control> control_;            // what the process on the device says of itself
  std::vector<std::optional<std::uint8_t>> poisons_;  // of each call, with all around its outputs
  std::vector<Left> left_;
  int descriptors_ = -1;
  bool watches_clock_ = true;
};

}  // namespace kw::remote
