#include "targets/remote/room.h"

#include "targets/cpu/cell.h"

namespace kw::remote {
namespace {

// Phones often have 39 bits of addresses; programs and libraries lie in their upper third, or near 0.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 36;
constexpr std::uint64_t kFirstPages = 1 << 24;

// With 32 bits. Programs and their heaps lie near 0. What they map lies below 3 GB, going down, and on emulators below
// 1 GB. Systems that give them less than 3 GB are rare; mapping fails there.
constexpr std::uint64_t kFirstOf32 = std::uint64_t{0x48000000}, kEndOf32 = std::uint64_t{0x80000000};
constexpr std::uint64_t kFirstPagesOf32 = 1 << 12;
constexpr std::uint64_t kTensorsOf32 = kEndOf32 - kFirstOf32 - kFirstPagesOf32 * 4096;
// Scratch memory, and what is kept of the instances and of the one before; some 200 MB more are ours (host/host.h) and
// the program's.
constexpr std::uint64_t kBesideTensorsOf32 = std::uint64_t{600} << 20;

std::uint64_t megabytes(std::uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

Status fits_in_process(const targets::Instance& instance, int address_bits) {
  if (address_bits == 64) return {};
  const std::uint64_t tensors = instance.all_bytes();
  const std::uint64_t beside =
      cpu::scratch_bytes(tensors) + (host::kMostInstances + 1) * cpu::kept_bytes(instance.constant_bytes());
  if (beside > kBesideTensorsOf32) {
    return fail(
        "its tensors take {} MB, and a kernel may use {} MB of memory beside them; processes of 32 bits have {} MB for "
        "that: shorter lengths (--dim NAME=LENGTH) may fit",
        megabytes(tensors), megabytes(beside), megabytes(kBesideTensorsOf32));
  }
  return {};
}

std::uint64_t draw_first_address(Random& random, int address_bits) {
  const bool small = address_bits == 32;
  return (small ? kFirstOf32 : kFirstAddress) + random.bits() % (small ? kFirstPagesOf32 : kFirstPages) * 4096;
}

Result<cpu::Layout> lay_out_in_process(const targets::Instance& instance, std::span<const targets::Placement> places,
                                       Random& random, std::uint64_t base, std::size_t instances, int address_bits) {
  std::uint64_t gap = cpu::kUsualGap;
  if (address_bits == 32) {
    const auto narrow = cpu::gap_within(kTensorsOf32, instance.inputs, instance.outputs, places.size());
    if (!narrow) {
      return fail("{} calls with tensors of {} MB each do not fit into a process of 32 bits", places.size(),
                  megabytes(instance.all_bytes()));
    }
    gap = *narrow;
  }
  return cpu::lay_out(instance.inputs, instance.constant, instance.outputs, places, random, base, instances, gap);
}

}  // namespace kw::remote
