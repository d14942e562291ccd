// What was measured round by round: a lap of everyone who takes part, and whether something disturbed the round. Turns
// it into pairs, ratios and the noise of the comparison; knows nothing of kernels or clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/paired_ratio.h"

namespace kw::judge {

// Of one call of the candidate, one a round: work that it did outside of that round's lap. Empty: none.
using Charges = std::vector<double>;

class LapBook {
 public:
  // With the candidate first, its rivals after it, and a copy of the first rival, or of the candidate, last.
  LapBook(std::size_t participants, std::uint64_t seed) : laps_ns_(participants), seed_(seed) {}

  // Of one call; of each participant at most one a round.
  void add(std::size_t who, double lap_ns) { laps_ns_[who].push_back(lap_ns); }
  void end_round(bool clean) { clean_.push_back(clean); }

  // On a busy machine hardly a round is clean, and all count.
  bool busy() const;
  // Of one figure a round, those of the rounds that count.
  std::vector<double> counted(const std::vector<double>& of_rounds) const;

  // Of one call. What is charged is added to the candidate's, round by round.
  std::vector<double> times_of(std::size_t who, const Charges& charged_ns = {}) const;
  std::vector<Pair> pairs(std::size_t a, std::size_t b, const Charges& charged_ns = {}) const;
  // Against a rival whose laps are kept elsewhere, one a round.
  std::vector<Pair> pairs_with(const std::vector<double>& theirs_ns, const Charges& charged_ns = {}) const;
  // None where there are too few pairs.
  std::optional<Ratio> ratio(std::size_t a, std::size_t b, const Charges& charged_ns = {}) const;
  // What a kernel and its copy differ by: the far end of the interval. 1 where that is not known.
  double noise() const;

 private:
  std::vector<std::vector<double>> laps_ns_;
  std::vector<bool> clean_;
  std::uint64_t seed_;
};

}  // namespace kw::judge
