// The measurements of a race, round by round: the lap of each participant, and whether something disturbed the round.
// Makes pairs, ratios and the noise of the comparison of them; knows nothing of kernels or clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/paired_ratio.h"

namespace kw::judge {

// For each round: the time of work that the candidate did outside of its lap, per call. Empty: none.
using Charges = std::vector<double>;

class LapBook {
 public:
  // With the candidate first, its rivals after it, and a copy of the first rival, or of the candidate, last.
  LapBook(std::size_t participants, std::uint64_t seed) : laps_ns_(participants), seed_(seed) {}

  // Adds the time of one call; at most once for each participant in a round.
  void add(std::size_t who, double lap_ns) { laps_ns_[who].push_back(lap_ns); }
  void end_round(bool clean) { clean_.push_back(clean); }

  // Whether hardly any round was undisturbed; then all rounds count.
  bool busy() const;
  // Of a list with one figure for each round: the figures of the rounds that count.
  std::vector<double> counted(const std::vector<double>& of_rounds) const;

  // The times of one call. Charges are added to the candidate's, round by round.
  std::vector<double> times_of(std::size_t who, const Charges& charged_ns = {}) const;
  std::vector<Pair> pairs(std::size_t a, std::size_t b, const Charges& charged_ns = {}) const;
  // Pairs with a rival whose laps are kept elsewhere, one for each round.
  std::vector<Pair> pairs_with(const std::vector<double>& theirs_ns, const Charges& charged_ns = {}) const;
  // None where there are too few pairs.
  std::optional<Ratio> ratio(std::size_t a, std::size_t b, const Charges& charged_ns = {}) const;
  // By how much two copies of one kernel may differ: the far end of the interval. 1 (100 %) where it is not known.
  double noise() const;

 private:
  std::vector<std::vector<double>> laps_ns_;
  std::vector<bool> clean_;
  std::uint64_t seed_;
};

}  // namespace kw::judge
