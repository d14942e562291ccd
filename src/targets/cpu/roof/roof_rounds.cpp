#include "targets/cpu/roof/roof_rounds.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <memory>

namespace kw::cpu {
namespace {

constexpr std::uint64_t kSliceBytes = 32 << 20;
constexpr int kFewestRounds = 3;  // that a spread can be made of

struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* start) const { ::munmap(start, bytes); }
};
using Pages = std::unique_ptr<std::byte, Unmap>;

// Memory of which every page exists, in pages of the kind that the judge gives to kernels: what a core can do with
// others is no roof of theirs. Null: there is none.
Pages touched_pages(std::size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return Pages(nullptr, Unmap{0});
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

void measure_round(WorkingSet& set, RoofRounds::Level& level, std::int64_t window_ns) {
  double best[std::size(kPatterns)] = {};
  for (const RoofKernels& kernels : roof_kernels()) {
    for (const PatternWalk& way : kernels.walks) {
      double& of_pattern = best[static_cast<std::size_t>(way.pattern)];
      of_pattern = std::max(of_pattern, set.measure_gbps(way, window_ns));
    }
  }
  for (std::size_t i = 0; i < std::size(best); ++i) level.gbps[i].push_back(best[i]);
}

}  // namespace

std::optional<RoofRounds> measure_rounds(const RoofPlan& plan) {
  assert(!plan.working_sets.empty() && plan.rounds > 0);
  const Pages pages = touched_pages(plan.working_sets.back());
  if (pages == nullptr) return std::nullopt;
  RoofRounds rounds;
  rounds.levels.resize(plan.working_sets.size());
  std::vector<WorkingSet> sets;
  for (const std::uint64_t bytes : plan.working_sets) sets.emplace_back(pages.get(), bytes, kSliceBytes);

  const std::int64_t begin_ns = now_ns();
  const auto late = [&] { return plan.most_ns > 0 && now_ns() - begin_ns > plan.most_ns; };
  measure_fma_gflops(25 * plan.timing_ns);  // until the clock has settled to wide vectors
  for (int round = 0; round < plan.rounds && !(round >= kFewestRounds && late()); ++round) {
    rounds.fma_gflops.push_back(measure_fma_gflops(plan.timing_ns));
    for (std::size_t i = 0; i < sets.size(); ++i) measure_round(sets[i], rounds.levels[i], plan.timing_ns);
  }
  return rounds;
}

}  // namespace kw::cpu
