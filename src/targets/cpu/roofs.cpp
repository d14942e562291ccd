#include "targets/cpu/roofs.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <memory>

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

struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* start) const { ::munmap(start, bytes); }
};
using Pages = std::unique_ptr<std::byte, Unmap>;

// Memory of which every page exists, in pages of the kind that the judge gives to kernels: what a core can do with
// others is no roof of theirs.
Result<Pages> touched_pages(std::size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return fail("no memory to measure with: the system refused {} MB; free some and try again", bytes >> 20);
  std::fill_n(static_cast<float*>(start), bytes / sizeof(float), 1.0f);
  return Pages(static_cast<std::byte*>(start), Unmap{bytes});
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The least time of one `work`, tried for `window_ns` and at least three times (the first finds the caches cold).
template <class Work>
double least_time_of(const Work& work, std::int64_t window_ns) {
  double least_ns = 0;
  const std::int64_t first_ns = now_ns();
  std::int64_t start_ns = first_ns;
  for (int tries = 0; tries < 3 || start_ns - first_ns < window_ns; ++tries) {
    work();
    const std::int64_t end_ns = now_ns();
    const double time_ns = static_cast<double>(std::max<std::int64_t>(end_ns - start_ns, 1));
    least_ns = tries == 0 ? time_ns : std::min(least_ns, time_ns);
    start_ns = end_ns;
  }
  return least_ns;
}

double measure_fma_gflops(std::int64_t window_ns) {
  constexpr std::int64_t kSteps = 20'000;  // some 50 us: short enough to fall between two disturbances
  double best = 0;
  for (const RoofKernels& kernels : roof_kernels()) {
    const double time_ns = least_time_of([&] { kernels.multiply_add(kSteps); }, window_ns);
    best = std::max(best, kSteps * kernels.flops_per_step / time_ns);
  }
  return best;
}

// A working set, walked in slices one after the other, round and round. A set larger than all caches has several: when
// a slice's turn comes again, all the others have been through the caches since.
class WorkingSet {
 public:
  WorkingSet(std::byte* start, std::size_t bytes, std::size_t slice_bytes)
      : start_(start), slice_bytes_(std::min(bytes, slice_bytes)), slices_(bytes / slice_bytes_) {}

  double measure_gbps(const PatternWalk& way, std::int64_t window_ns) {
    const std::size_t arrays = arrays_of(way.pattern);
    const std::size_t array_bytes = slice_bytes_ / arrays / kWalkBlockBytes * kWalkBlockBytes;
    const std::size_t turns = std::max<std::size_t>(1, kLeastBytes / slice_bytes_);
    const double time_ns = least_time_of(
        [&] {
          std::byte* slice = next_slice();
          way.walk(slice, slice + array_bytes * (arrays - 1), slice + array_bytes * (arrays / 2), array_bytes, turns);
        },
        window_ns);
    return static_cast<double>(turns * arrays * array_bytes) / time_ns;
  }

 private:
  static constexpr std::size_t kLeastBytes = 8
                                             << 20;  // some 20 us in the fastest cache: the clock's grain is far below

  std::byte* next_slice() { return start_ + slice_bytes_ * (next_++ % slices_); }

  std::byte* start_;
  std::size_t slice_bytes_;
  std::size_t slices_;
  std::size_t next_ = 0;
};

constexpr std::uint64_t kSliceBytes = 32 << 20;
constexpr std::uint64_t kLeastMemoryBytes = 64 << 20;

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

// The bests of one round after the other, for every figure.
struct RoundsOfLevel {
  WorkingSet set;
  std::vector<double> gbps[std::size(kPatterns)];
};

void measure_round(RoundsOfLevel& rounds, std::int64_t window_ns) {
  double best[std::size(kPatterns)] = {};
  for (const RoofKernels& kernels : roof_kernels()) {
    for (const PatternWalk& way : kernels.walks) {
      double& of_pattern = best[static_cast<std::size_t>(way.pattern)];
      of_pattern = std::max(of_pattern, rounds.set.measure_gbps(way, window_ns));
    }
  }
  for (std::size_t i = 0; i < std::size(best); ++i) rounds.gbps[i].push_back(best[i]);
}

std::string iso_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

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

Result<Roofs> measure_roofs(const CpuFacts& facts, const Effort& effort) {
  assert(effort.rounds > 0 && effort.most_memory_bytes >= kWalkBlockBytes * 3);
  const PinnedToOneCore pinned;
  Roofs roofs = {.measured_at = iso_time_now(), .levels = levels_to_measure(facts, effort.most_memory_bytes)};
  KW_TRY(const Pages pages, touched_pages(roofs.levels.back().working_set_bytes));

  std::vector<RoundsOfLevel> rounds;
  for (const LevelRoof& level : roofs.levels)
    rounds.push_back({.set = WorkingSet(pages.get(), level.working_set_bytes, kSliceBytes)});
  std::vector<double> fma_gflops;

  measure_fma_gflops(25 * effort.timing_ns);  // until the clock has settled to wide vectors
  for (int round = 0; round < effort.rounds; ++round) {
    fma_gflops.push_back(measure_fma_gflops(effort.timing_ns));
    for (RoundsOfLevel& level : rounds) measure_round(level, effort.timing_ns);
  }

  roofs.fma_gflops = figure_of_rounds(fma_gflops);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    for (const Pattern pattern : kPatterns)
      roofs.levels[i].of(pattern) = figure_of_rounds(rounds[i].gbps[static_cast<std::size_t>(pattern)]);
  }
  return roofs;
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
