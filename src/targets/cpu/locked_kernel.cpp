#include "targets/cpu/locked_kernel.h"

#include <algorithm>

namespace kw::cpu {

Reason LockedKernel::finish_loading(Clock::time_point deadline) {
  if (Reason reason = cell_.loaded(deadline); !reason.empty()) return reason;
  // One for loading, one more for running: a constructor that never returns has only the first.
  if (const int filters = cell_.filter_count(); filtered_ && filters >= 0 && filters < 2) {
    return {ReasonCode::filter_missing, {}};
  }
  descriptors_ = cell_.descriptor_count();
  if (flushes_) {
    cell_.forgive_registers();
    return {};
  }
  return registers();
}

Result<Reason> LockedKernel::arrange(const targets::Calls& calls, const targets::Instance& instance,
                                     Clock::time_point deadline) {
  const Layout& layout = dynamic_cast<const CallMemory&>(calls).layout();
  KW_CHECK(cell_.make_room(layout.output_bytes));
  outputs_ = std::make_unique<OutputMemory>(cell_.outputs(), layout);
  return cell_.arrange(layout, instance, deadline);
}

Reason LockedKernel::poison_scratch(std::uint8_t value, Clock::time_point) {
  cell_.poison_scratch(value);
  return {};
}

Reason LockedKernel::run(std::size_t first, std::size_t count, Clock::time_point deadline) {
  Reason reason = cell_.run(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), deadline);
  return reason.empty() ? registers() : reason;
}

std::optional<Reason> LockedKernel::run_watched(std::size_t call, Clock::time_point deadline) {
#if defined(__x86_64__)
  if (threads_ > 1) return std::nullopt;
  Reason reason = cell_.run_watched(static_cast<std::uint32_t>(call), deadline);
  return reason.empty() ? registers() : reason;
#else
  return std::nullopt;
#endif
}

// A signal comes to any one of several threads.
std::optional<std::vector<std::uint64_t>> LockedKernel::run_sampled(std::size_t first, std::size_t count,
                                                                    Clock::time_point deadline) {
  if (threads_ > 1) return std::nullopt;
  return cell_.run_sampled(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), deadline);
}

targets::FoundShape LockedKernel::found_shape(std::size_t call, std::size_t output) const {
  const host::FoundShapes& answer = cell_.control().found[call];
  const std::int32_t rank = answer.ranks[output];
  if (rank < 0 || rank > KW_MAX_RANK) return {.rank = rank};
  return {.rank = rank, .lengths = {answer.shapes[output], answer.shapes[output] + rank}};
}

std::optional<targets::MemoryUse> LockedKernel::memory_used() const {
  const host::Control& control = cell_.control();
  return targets::MemoryUse{.scratch_bytes = std::min(control.scratch_used, control.scratch_bytes),
                            .kept_bytes = std::min(control.kept_used, control.kept_bytes),
                            .prepares = control.prepares != 0};
}

Reason LockedKernel::registers() const {
  return cell_.control().registers_changed != 0 ? Reason{ReasonCode::registers_changed, {}} : Reason{};
}

Reason LockedKernel::behaviour() {
  const int threads = cell_.thread_count();
  if (threads > (threads_ > 1 ? 2 * threads_ : 1)) {  // those that are lent, and as many of the kernel's own
    return {ReasonCode::threads_left, {{"threads", threads}, {"allowed", threads_}}};
  }
  if (descriptors_ >= 0 && cell_.descriptor_count() != descriptors_) return {ReasonCode::descriptors_left, {}};
  return cell_.come_to_rest();
}

}  // namespace kw::cpu
