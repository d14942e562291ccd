// A kernel in a locked-up process (cell.h), as the judge sees it.
#pragma once

#include "targets/cpu/call_memory.h"
#include "targets/cpu/cell.h"
#include "targets/target.h"

namespace kw::cpu {

class LockedKernel final : public targets::LoadedKernel {
 public:
  // `filtered`: the sandbox filters system calls here. `flushes`: loading changes the registers, by the compiler's own
  // constructor.
  LockedKernel(Cell cell, int threads, bool filtered, bool flushes = false)
      : cell_(std::move(cell)), threads_(threads), filtered_(filtered), flushes_(flushes) {}

  Reason finish_loading(Clock::time_point deadline) override;
  bool varies() const override { return cell_.control().varies != 0; }
  Result<Reason> arrange(const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override;
  Reason poison_scratch(std::uint8_t value, Clock::time_point deadline) override;
  Reason run(std::size_t first, std::size_t count, Clock::time_point deadline) override;
  std::optional<Reason> run_watched(std::size_t call, Clock::time_point deadline) override;
  std::optional<std::vector<std::uint64_t>> run_sampled(std::size_t first, std::size_t count,
                                                        Clock::time_point deadline) override;
  targets::Outputs& outputs() override { return *outputs_; }
  targets::FoundShape found_shape(std::size_t call, std::size_t output) const override;
  std::optional<std::uint64_t> memory_held() const override { return cell_.memory_held(); }
  std::optional<targets::MemoryUse> memory_used() const override;
  Reason behaviour() override;

  Cell& cell() { return cell_; }
  int threads() const { return threads_; }
  // What the host noted of the control registers; a later call could wipe the note.
  Reason registers() const;

 private:
  Cell cell_;
  int threads_;
  bool filtered_, flushes_;
  int descriptors_ = -1;
  std::unique_ptr<OutputMemory> outputs_;
};

}  // namespace kw::cpu
