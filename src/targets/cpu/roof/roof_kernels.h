// The loops that reach for a machine's roofs: arithmetic that waits for nothing, and walks over memory.
//
// Each comes once per vector width that the machine has, with ordinary or streaming (cache-bypassing) stores, and in
// one place or in several: which one is the fastest differs by machine and cache level, so a measurement tries them
// all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kw::cpu {

enum class Pattern { read, write, copy, triad };  // triad: a = b + s * c
inline constexpr Pattern kPatterns[] = {Pattern::read, Pattern::write, Pattern::copy, Pattern::triad};

// How many arrays of the same length a pattern walks over; each byte of each is moved once.
constexpr std::size_t arrays_of(Pattern pattern) {
  return pattern == Pattern::triad ? 3 : pattern == Pattern::copy ? 2 : 1;
}

// Walks `turns` times over arrays of float32, 64-byte aligned, each of a multiple of kWalkBlockBytes bytes. `a` is
// written (only read by Pattern::read); `b` and `c` are read where the pattern has them; none overlaps another.
using Walk = void (*)(std::byte* a, const std::byte* b, const std::byte* c, std::size_t bytes, std::size_t turns);
inline constexpr std::size_t kWalkBlockBytes = 4096;

struct PatternWalk {
  Pattern pattern;
  Walk walk;
};

struct RoofKernels {
  void (*multiply_add)(std::int64_t steps);  // in float32
  double flops_per_step;
  std::span<const PatternWalk> walks;
};

// Those that this machine can run, the widest first; at least one.
std::span<const RoofKernels> roof_kernels();

}  // namespace kw::cpu
