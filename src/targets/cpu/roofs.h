// The roofs of one core: the most arithmetic it can do and the most bytes it can move in a second. No kernel is faster,
// so its distance from the roof is what is left to gain.
//
// A shared machine only ever makes a loop slower than it could be. So a roof is the best of many short timings, taken
// in rounds over a few seconds, and of the last measurings where there are earlier ones. How well rounds and measurings
// agree is its spread, and says whether to trust it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/cost.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/roof/roof_rounds.h"

namespace kw::cpu {

// A figure whose spread is within this is called stable.
inline constexpr double kStableSpread = 0.05;

struct Figure {
  double best = 0;
  // How far the bests of a run's thirds, or of the recent runs, lie apart: 0.02 is 2 %.
  double spread = 0;
  std::vector<double> runs = {};  // the bests of the recent measurings, the newest last

  bool stable() const { return spread <= kStableSpread; }
};

// Of one measuring; needs at least one round. The spread is how far the bests of the first, the middle and the last
// third of its rounds lie apart: what they do not agree on, another measuring will not repeat.
Figure figure_of_rounds(const std::vector<double>& best_of_each_round);

// A new measuring seen together with the earlier ones of the same machine, of which the last nine count.
Figure joined(const Figure& fresh, const Figure& earlier);

// How many bytes a nanosecond (10^9 bytes a second) a core moves over data that lies in a cache, or in memory.
struct LevelRoof {
  std::string name;                     // "L1", ..., "memory"
  std::uint64_t size_bytes = 0;         // 0 for memory: anything fits
  std::uint64_t working_set_bytes = 0;  // that it was measured with
  Figure read_gbps;
  Figure write_gbps;
  Figure copy_gbps;   // bytes read and bytes written both count
  Figure triad_gbps;  // a = b + s * c: all three count

  Figure& of(Pattern pattern);
  const Figure& of(Pattern pattern) const { return const_cast<LevelRoof*>(this)->of(pattern); }
  // Of the fastest pattern: what no mix of reads and writes can pass.
  double best_gbps() const;
  // The most that is read, and that is written, whatever else moves beside it.
  double best_read_gbps() const;
  double best_write_gbps() const;
  double spread() const;  // of its least steady figure
};

struct Roofs {
  std::string measured_at;        // "2026-01-31T12:00:00Z"
  Figure fma_gflops;              // float32; a multiply-add is two
  std::vector<LevelRoof> levels;  // from the smallest cache to memory, which is always there

  double spread() const;  // of the least steady figure
  bool stable() const { return spread() <= kStableSpread; }
};

Roofs joined(Roofs fresh, const Roofs& earlier);

struct Effort {
  int rounds = 24;
  std::int64_t timing_ns = 2'000'000;  // of one loop in one round
  std::uint64_t most_memory_bytes = std::uint64_t{512} << 20;
  std::int64_t most_ns = 0;  // as RoofPlan's
};

// What there is to measure, from the smallest cache to memory: names and sizes, and no figures yet.
std::vector<LevelRoof> levels_to_measure(const CpuFacts& facts, std::uint64_t most_memory_bytes);
RoofPlan plan_for(const std::vector<LevelRoof>& levels, const Effort& effort);
// What was measured by such a plan, now, as figures.
Roofs roofs_of(const RoofRounds& rounds, std::vector<LevelRoof> levels);

// Takes a few seconds, pinned to the first core that this process may use, so that two runs compare. Fails only where
// there is no memory to measure with.
Result<Roofs> measure_roofs(const CpuFacts& facts = read_cpu_facts(), const Effort& effort = {});

// The least possible time of a task on one core: of its arithmetic, or of moving its bytes (what is read, what is
// written, and both) at the speed of the smallest level that holds them all, whichever is longest.
double least_time_ns(const Roofs& roofs, const Cost& cost);

}  // namespace kw::cpu
