// Measures what the core that it runs on can do at most: round after round over the loops of roof_kernels.h, of which
// the best of each round is kept. A shared machine only ever makes a loop slower than it could be.
//
// Also compiled into kw's agent on devices: it needs nothing but the standard library, and knows nothing of caches and
// machines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/roof/roof_kernels.h"

namespace kw::cpu {

struct RoofPlan {
  std::vector<std::uint64_t> working_sets = {};  // bytes that are walked over, of each level; the last is the largest
  int rounds = 24;
  std::int64_t timing_ns = 2'000'000;  // of one loop in one round
  std::int64_t most_ns = 0;            // of all: after this, and three rounds at least, it ends early; 0: never
};

// The best of one round after the other, in 10^9 a second.
struct RoofRounds {
  struct Level {
    std::vector<double> gbps[std::size(kPatterns)];
  };
  std::vector<double> fma_gflops;
  std::vector<Level> levels;  // as the plan's
};

// None: the system has no memory for it.
std::optional<RoofRounds> measure_rounds(const RoofPlan& plan);

}  // namespace kw::cpu
