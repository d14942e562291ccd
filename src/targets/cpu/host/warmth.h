// Reads memory so that it is near: what a call needs before its turn is timed. A framework's call comes right after
// others on the same memory; a kernel's comes after other processes' turns, and would pay for that.
#pragma once

#include <cstdint>
#include <span>

namespace kw::host {

struct Block {
  const void* memory;
  std::uint64_t size_bytes;
};

// More than this no cache keeps: then nothing is read.
inline constexpr std::uint64_t kMostWarmBytes = std::uint64_t{16} << 20;
// After this number of passes calls take as long as in a loop; after one, some take 15 % longer.
inline constexpr int kWarmPasses = 4;
inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr std::uint64_t kPageBytes = 4096;

// A byte of every `step` of all blocks, side by side as a call goes through its tensors: a part of each in turn.
inline void read_side_by_side(std::span<const Block> blocks, std::uint64_t step) {
  constexpr std::uint64_t kParts = 64;
  for (std::uint64_t part = 0; part < kParts; ++part) {
    for (const Block& block : blocks) {
      const auto* bytes = static_cast<const volatile char*>(block.memory);
      const std::uint64_t end = block.size_bytes * (part + 1) / kParts;
      for (std::uint64_t at = block.size_bytes * part / kParts; at < end; at += step) {
        static_cast<void>(bytes[at]);
      }
    }
  }
}

}  // namespace kw::host
