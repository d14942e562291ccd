// Which texts are nearly the same: by the runs of five tokens that they share.
//
// Tokens are words, numbers and signs; all numbers count as one, so that another shape or another value of a tunable
// makes no difference. Likeness is the share of runs that two texts have in common (Jaccard). Candidates come from
// min-hashes in 32 bands of 4, and the runs themselves decide: a pair of likeness 0.8 is missed once in 10 million.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kw::corpus {

using Runs = std::vector<std::uint64_t>;  // sorted, each once

Runs runs_of(std::string_view text);
double likeness(const Runs& a, const Runs& b);

// Texts in an order of preference, one after the other: which earlier one is like it?
class Likenesses {
 public:
  explicit Likenesses(double least) : least_(least) {}

  // The number of the first kept text with at least this likeness; none: the text is kept under the next number.
  struct Answer {
    std::size_t number = 0;
    bool is_new = true;
  };
  Answer add(Runs runs);

 private:
  double least_;
  std::vector<Runs> kept_;
  std::vector<std::vector<std::pair<std::uint64_t, std::size_t>>> bands_;  // of each band: hash and number, sorted
};

}  // namespace kw::corpus
