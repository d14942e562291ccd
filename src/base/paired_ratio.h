// How much faster is A than B, on a machine whose speed drifts?
//
// Timed in blocks, one kernel differs from itself by several percent. Timed in alternation each pair shares the
// machine's mood, and the median of the pairs' ratios is steady. Here such pairs become a claim with an interval;
// nothing here knows of kernels or clocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kw {

struct Pair {
  double a_ns = 0;
  double b_ns = 0;
};

struct Ratio {
  double median = 1;  // of b / a: above 1 means that A is the faster one
  double low = 1;     // 95 % bootstrap interval of the median
  double high = 1;

  // Larger than what the machine shows between equals.
  bool differs_by_more_than(double noise) const { return low > 1 + noise || high < 1 / (1 + noise); }
};

inline constexpr std::size_t kFewestPairs = 8;

// Needs kFewestPairs at least: fewer cannot carry an interval. The same pairs and seed give the same answer.
Ratio ratio_of_pairs(std::span<const Pair> pairs, std::uint64_t seed);

// Of an even number halfway between the two in the middle; of none 0.
double median_of(std::vector<double> values);

}  // namespace kw
