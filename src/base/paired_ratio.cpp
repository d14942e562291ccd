#include "base/paired_ratio.h"

#include <algorithm>
#include <cassert>

#include "base/random.h"

namespace kw {
namespace {

constexpr std::size_t kResamples = 600;

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Ratio ratio_of_pairs(std::span<const Pair> pairs, std::uint64_t seed) {
  assert(pairs.size() >= kFewestPairs);
  // The median of a resample is the order statistic of the sorted ratios whose rank the resampled ranks have as their
  // median: ranks are drawn, and ratios looked up.
  std::vector<double> ratios;
  for (const Pair& pair : pairs) ratios.push_back(pair.b_ns / pair.a_ns);
  std::ranges::sort(ratios);

  Random random(seed);
  const std::size_t count = ratios.size();
  std::vector<std::uint32_t> ranks(count);
  std::vector<double> medians;
  for (std::size_t i = 0; i < kResamples; ++i) {
    for (std::uint32_t& rank : ranks) rank = static_cast<std::uint32_t>(random.bits() % count);
    const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::ranges::nth_element(ranks, middle);
    medians.push_back(ratios[*middle]);
  }
  std::ranges::sort(medians);
  return {
      .median = ratios[count / 2], .low = medians[kResamples * 25 / 1000], .high = medians[kResamples * 975 / 1000]};
}

}  // namespace kw
