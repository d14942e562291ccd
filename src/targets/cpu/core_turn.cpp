#include "targets/cpu/core_turn.h"

#include <sys/resource.h>

#include <algorithm>

#include "targets/cpu/temperature.h"

namespace kw::cpu {
namespace {

Cell& cell_of(targets::LoadedKernel& kernel) { return dynamic_cast<LockedKernel&>(kernel).cell(); }

// How often this thread had to give up its core.
long times_interrupted() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

void CoreTurn::admit(targets::LoadedKernel& kernel) {
  if (threads_ == 1) cell_of(kernel).pin(turn_.kernel_core());
}

Reason CoreTurn::put_to_rest(Cell& cell) const {
  if (Reason reason = cell.come_to_rest(); !reason.empty()) return reason;
  if (threads_ > 1) cell.hold();
  return {};
}

void CoreTurn::wake(Cell& cell) const {
  if (threads_ > 1) cell.release();
}

Result<Reason> CoreTurn::arrange(targets::LoadedKernel& kernel, const targets::Calls& calls,
                                 const targets::Instance& instance, Clock::time_point deadline) {
  Cell& cell = cell_of(kernel);
  wake(cell);
  KW_TRY(Reason reason, kernel.arrange(calls, instance, deadline));
  if (!reason.empty()) return reason;
  return put_to_rest(cell);
}

Reason CoreTurn::make_ready(targets::LoadedKernel& kernel, std::size_t count, std::optional<std::size_t> warm_call,
                            targets::Warmth warmth, double* warm_ns, Clock::time_point deadline) {
  Cell& cell = cell_of(kernel);
  wake(cell);
  const auto calls = static_cast<std::uint32_t>(count);
  // By the clock others' work would count: on a busy machine a command takes milliseconds to reach its process.
  const std::uint64_t cpu_start = cell.cpu_ns();
  if (warm_call) {
    if (Reason reason = cell.run(static_cast<std::uint32_t>(*warm_call), 1, deadline); !reason.empty()) return reason;
  }
  *warm_ns = static_cast<double>(cell.cpu_ns() - cpu_start);
  // Before its inputs are there, so that nothing can be worked meanwhile.
  if (warmth == targets::Warmth::warm) {
    if (Reason reason = cell.warm(0, calls, deadline); !reason.empty()) return reason;
  }
  if (Reason reason = cell.stand(0, calls, deadline); !reason.empty()) return reason;
  return put_to_rest(cell);
}

void CoreTurn::settle(const targets::Calls& calls, targets::LoadedKernel& kernel, std::size_t count,
                      targets::Warmth warmth) {
  const auto& memory = dynamic_cast<const CallMemory&>(calls);
  const Arena& outputs = cell_of(kernel).outputs();
  if (warmth == targets::Warmth::cold) {
    push_out(memory.layout(), memory.inputs(), outputs);
  } else {
    bring_near(memory.layout(), static_cast<int>(count), memory.inputs(), outputs);
  }
}

targets::Lap CoreTurn::time(targets::LoadedKernel& kernel, std::size_t count, Clock::time_point deadline) {
  Cell& cell = cell_of(kernel);
  targets::Lap lap;
  const auto failed = [&](Reason reason) {
    lap.reason = std::move(reason);
    return lap;
  };
  move_to(turn_.clock_core());
  const bool spins = watches_clock();
  const std::uint64_t cpu_start = cell.cpu_ns();
  std::uint64_t cpu_ready = cpu_start, cpu_done = cpu_start;
  const long interrupted = times_interrupted();
  const auto begin = Clock::now();
  bool came = !spins;  // to the end of its calls
  wake(cell);
  cell.start(0, static_cast<std::uint32_t>(count), spins);
  if (spins && cell.ready(deadline)) {
    if (threads_ > 1) cpu_ready = cell.cpu_ns();
    const Cell::Lap seen = cell.go(deadline);
    if (threads_ > 1) cpu_done = cell.cpu_ns();
    lap.ns = static_cast<double>(seen.end_ns - seen.begin_ns);
    came = seen.done;
  }
  if (Reason reason = cell.finish(deadline); !reason.empty()) return failed(std::move(reason));
  const auto wall_ns = static_cast<double>((Clock::now() - begin).count());
  // The thread that reads the clock must not have been interrupted meanwhile.
  lap.clean = times_interrupted() == interrupted;
  if (Reason reason = put_to_rest(cell); !reason.empty()) return failed(std::move(reason));
  if (Reason reason = dynamic_cast<LockedKernel&>(kernel).registers(); !reason.empty()) {
    return failed(std::move(reason));
  }
  if (!came) return failed({ReasonCode::skipped_its_calls, {}});
  // The system brings a process's account up to date when it leaves the core: it has, where this thread runs.
  move_to(turn_.kernel_core());
  const auto cpu_ns = static_cast<double>(cell.cpu_ns() - cpu_start);
  // Without a thread that watches the clock, the time is what the system accounts to one thread, or from the command to
  // the answer.
  if (!spins) lap.ns = threads_ == 1 ? cpu_ns : wall_ns;
  // With several threads it is not known how much of the lap they worked, so that what came before and after is
  // counted.
  lap.outside_ns = threads_ == 1 ? std::max(cpu_ns - lap.ns, 0.0)
                   : spins       ? cpu_ns - static_cast<double>(cpu_done - cpu_ready)
                                 : std::max(cpu_ns - lap.ns * threads_, 0.0);
  return lap;
}

}  // namespace kw::cpu
