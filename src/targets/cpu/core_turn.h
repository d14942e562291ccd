// The right to time on this machine's cores: the kernel on one, the clock on another (cores.h). The judge's process
// reads the clock between two flags in shared memory, and holds it against the CPU time that the system accounts to the
// kernel.
#pragma once

#include "targets/cpu/cores.h"
#include "targets/cpu/locked_kernel.h"
#include "targets/target.h"

namespace kw::cpu {

class CoreTurn final : public targets::Turn {
 public:
  explicit CoreTurn(int threads) : threads_(threads) {}

  void admit(targets::LoadedKernel& kernel) override;
  Result<Reason> arrange(targets::LoadedKernel& kernel, const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override;
  Reason make_ready(targets::LoadedKernel& kernel, std::size_t count, std::optional<std::size_t> warm_call,
                    targets::Warmth warmth, double* warm_ns, Clock::time_point deadline) override;
  void before_writing() override { move_to(turn_.kernel_core()); }
  void settle(const targets::Calls& calls, targets::LoadedKernel& kernel, std::size_t count,
              targets::Warmth warmth) override;
  targets::Lap time(targets::LoadedKernel& kernel, std::size_t count, Clock::time_point deadline) override;
  // The clock needs a core that the kernel does not.
  bool watches_clock() const override { return !turn_.one_core() && threads_ < turn_.core_count(); }
  int core() const override { return turn_.kernel_core(); }

 private:
  // Nothing of a kernel may run while others have their turns or while inputs are written. One thread that sleeps waits
  // for its next command; several could wake each other, and are stopped.
  Reason put_to_rest(Cell& cell) const;
  void wake(Cell& cell) const;

  TimingTurn turn_;
  int threads_;
};

}  // namespace kw::cpu
