// What runs on which core while something is timed: the kernel on one, the clock on another, and nothing else of ours.
#pragma once

#include <sched.h>

#include "sandbox/protocol.h"

namespace kw::cpu {

// The machine is ours for timing as long as this lives: other runs of kw wait for it. On the way out this thread may
// run anywhere again.
class TimingTurn {
 public:
  TimingTurn();
  TimingTurn(const TimingTurn&) = delete;
  TimingTurn& operator=(const TimingTurn&) = delete;
  ~TimingTurn();

  // Both the same on a machine with one core.
  int kernel_core() const { return kernel_core_; }
  int clock_core() const { return clock_core_; }
  bool one_core() const { return kernel_core_ == clock_core_; }
  int core_count() const { return CPU_COUNT(&before_); }

 private:
  sandbox::Descriptor lock_;
  cpu_set_t before_;
  int kernel_core_ = 0;
  int clock_core_ = 0;
};

// This thread, onto a core.
void move_to(int core);

}  // namespace kw::cpu
