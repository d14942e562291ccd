#include "targets/cpu/roofs.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cassert>

namespace kw::cpu {
namespace {

// Keeps the calling thread on one core while it lives. Where the system refuses, the measurement is only noisier.
class PinnedToOneCore {
 public:
  PinnedToOneCore() {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    int core = 0;
    while (core < CPU_SETSIZE && !CPU_ISSET(core, &before_)) ++core;
    if (core == CPU_SETSIZE) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pinned_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~PinnedToOneCore() {
    if (pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  PinnedToOneCore(const PinnedToOneCore&) = delete;
  PinnedToOneCore& operator=(const PinnedToOneCore&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

constexpr std::uint64_t kLeastMemoryBytes = 64 << 20;

std::string iso_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

// Half of a cache, so that it surely fits; but not more than eight times the cache below, which is plenty to fall out
// of that one: a server's last level belongs to many, and half of what it claims may never be ours.
std::vector<LevelRoof> levels_to_measure(const CpuFacts& facts, std::uint64_t most_memory_bytes) {
  std::vector<LevelRoof> levels;
  std::uint64_t largest_bytes = 0;
  for (const Cache& cache : facts.caches) {
    if (!cache.holds_data() || cache.size_bytes <= largest_bytes || cache.size_bytes < 8 * kWalkBlockBytes) continue;
    std::uint64_t set_bytes = cache.size_bytes / 2;
    if (largest_bytes > 0) set_bytes = std::min(set_bytes, 8 * largest_bytes);
    levels.push_back({.name = cache.name(),
                      .size_bytes = cache.size_bytes,
                      .working_set_bytes = std::min(set_bytes, most_memory_bytes)});
    largest_bytes = cache.size_bytes;
  }
  std::uint64_t memory_bytes = std::max(4 * largest_bytes, 4 * kLeastMemoryBytes);
  if (facts.memory_available_bytes > 0) memory_bytes = std::min(memory_bytes, facts.memory_available_bytes / 4);
  memory_bytes = std::min(std::max(memory_bytes, kLeastMemoryBytes), most_memory_bytes);
  levels.push_back({.name = "memory", .working_set_bytes = memory_bytes});
  return levels;
}

Figure figure_of_rounds(const std::vector<double>& best_of_each_round) {
  assert(!best_of_each_round.empty());
  const double best = std::ranges::max(best_of_each_round);
  double worst_third = best;
  const std::size_t count = best_of_each_round.size();
  const std::size_t thirds = std::min<std::size_t>(count, 3);
  for (std::size_t third = 0; third < thirds; ++third) {
    const auto begin = best_of_each_round.begin();
    const auto from = begin + static_cast<std::ptrdiff_t>(count * third / thirds);
    const auto to = begin + static_cast<std::ptrdiff_t>(count * (third + 1) / thirds);
    worst_third = std::min(worst_third, *std::max_element(from, to));
  }
  return {.best = best, .spread = (best - worst_third) / best, .runs = {best}};
}

Figure joined(const Figure& fresh, const Figure& earlier) {
  constexpr std::ptrdiff_t kMostRuns = 10;
  std::vector<double> runs = earlier.runs;
  runs.insert(runs.end(), fresh.runs.begin(), fresh.runs.end());
  runs.erase(runs.begin(), runs.end() - std::min(kMostRuns, std::ssize(runs)));
  const auto [worst, best] = std::ranges::minmax(runs);
  return {.best = best, .spread = std::max(fresh.spread, (best - worst) / best), .runs = std::move(runs)};
}

Figure& LevelRoof::of(Pattern pattern) {
  switch (pattern) {
    case Pattern::read:
      return read_gbps;
    case Pattern::write:
      return write_gbps;
    case Pattern::copy:
      return copy_gbps;
    case Pattern::triad:
      break;
  }
  return triad_gbps;
}

double LevelRoof::best_gbps() const {
  double best = 0;
  for (const Pattern pattern : kPatterns) best = std::max(best, of(pattern).best);
  return best;
}

double LevelRoof::best_read_gbps() const {
  return std::max({read_gbps.best, copy_gbps.best / 2, triad_gbps.best * 2 / 3});
}
double LevelRoof::best_write_gbps() const {
  return std::max({write_gbps.best, copy_gbps.best / 2, triad_gbps.best / 3});
}

double LevelRoof::spread() const {
  double spread = 0;
  for (const Pattern pattern : kPatterns) spread = std::max(spread, of(pattern).spread);
  return spread;
}

double Roofs::spread() const {
  double spread = fma_gflops.spread;
  for (const LevelRoof& level : levels) spread = std::max(spread, level.spread());
  return spread;
}

Roofs joined(Roofs fresh, const Roofs& earlier) {
  fresh.fma_gflops = joined(fresh.fma_gflops, earlier.fma_gflops);
  for (LevelRoof& level : fresh.levels) {
    const auto before = std::ranges::find(earlier.levels, level.name, &LevelRoof::name);
    if (before == earlier.levels.end()) continue;
    for (const Pattern pattern : kPatterns) level.of(pattern) = joined(level.of(pattern), before->of(pattern));
  }
  return fresh;
}

RoofPlan plan_for(const std::vector<LevelRoof>& levels, const Effort& effort) {
  RoofPlan plan{.rounds = effort.rounds, .timing_ns = effort.timing_ns, .most_ns = effort.most_ns};
  for (const LevelRoof& level : levels) plan.working_sets.push_back(level.working_set_bytes);
  return plan;
}

Roofs roofs_of(const RoofRounds& rounds, std::vector<LevelRoof> levels) {
  assert(rounds.levels.size() == levels.size());
  Roofs roofs = {.measured_at = iso_time_now(), .levels = std::move(levels)};
  roofs.fma_gflops = figure_of_rounds(rounds.fma_gflops);
  for (std::size_t i = 0; i < rounds.levels.size(); ++i) {
    for (const Pattern pattern : kPatterns)
      roofs.levels[i].of(pattern) = figure_of_rounds(rounds.levels[i].gbps[static_cast<std::size_t>(pattern)]);
  }
  return roofs;
}

Result<Roofs> measure_roofs(const CpuFacts& facts, const Effort& effort) {
  assert(effort.rounds > 0 && effort.most_memory_bytes >= kWalkBlockBytes * 3);
  const PinnedToOneCore pinned;
  const std::vector<LevelRoof> levels = levels_to_measure(facts, effort.most_memory_bytes);
  const std::optional<RoofRounds> rounds = measure_rounds(plan_for(levels, effort));
  if (!rounds) {
    return fail("no memory to measure with: the system refused {} MB; free some and try again",
                levels.back().working_set_bytes >> 20);
  }
  return roofs_of(*rounds, levels);
}

double least_time_ns(const Roofs& roofs, const Cost& cost) {
  assert(!roofs.levels.empty() && roofs.levels.back().size_bytes == 0);
  const double bytes = cost.bytes();
  const auto holds = [&](const LevelRoof& level) {
    return level.size_bytes == 0 || bytes <= static_cast<double>(level.size_bytes);
  };
  const LevelRoof& level = *std::ranges::find_if(roofs.levels, holds);
  return std::max({cost.flops / roofs.fma_gflops.best, bytes / level.best_gbps(),
                   cost.read_bytes / level.best_read_gbps(), cost.written_bytes / level.best_write_gbps()});
}

}  // namespace kw::cpu
