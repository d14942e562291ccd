// Is a right kernel worth measuring? A guess of its speed from facts of its machine code and its tunables, made before
// it is timed and tuned.
//
// The guess is the mean of the most similar kernels that were measured, with a bound above it that 95 % of earlier
// guesses would have kept to. A kernel whose bound lies below the incumbent is "not worth measuring". Each guess is
// made before the kernel is measured, and for as long as the surrogate is off everything is measured: so it is known
// how often following the guess would have lost a better kernel. Guesses are followed only when that share is at most
// one in five with 95 % confidence and they explain at least half of the variance of what was measured: late in a
// search nearly nothing is better than the incumbent, and even a random guess would seldom be wrong. While guesses are
// followed, one in four of the kernels that they would leave out is measured all the same, and a better kernel among
// them may turn the surrogate off again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

namespace kw::agents {

// By name; what is missing is 0.
using CodeFacts = std::map<std::string, double>;

// Of the notes on a built kernel (Device::look_into) and its source.
CodeFacts code_facts(const std::string& notes_json, const std::string& source);

class Surrogate {
 public:
  // Repeats for a seed.
  explicit Surrogate(std::uint64_t seed) : random_(seed) {}

  // Speeds are logarithms of how many times as fast as the first right kernel.
  struct Guess {
    double speed = 0;
    std::optional<double> at_most;  // none: too few guesses to know how far off they are
  };
  // None before enough kernels were measured.
  std::optional<Guess> guess(const CodeFacts& facts) const;

  // What to do with a kernel: why it is not worth measuring; empty: measure it. `incumbent`: the best one's speed.
  std::string not_worth_measuring(const CodeFacts& facts, double incumbent);

  // What a kernel turned out to be; `better`: than the incumbent, beyond the interval.
  void learn(const CodeFacts& facts, double speed, double incumbent, bool better);
  // A kernel that an earlier program did not measure on this one's word.
  void recall_left_out() { ++left_out_; }

  bool calibrated() const;
  // The share of the variance of measured speeds that guesses made before explain; below 0: the mean does better.
  double explained() const;
  // One line for a person: how many guesses, how many kept to their bound, how often its word would have been wrong.
  std::string reliability() const;

  int guesses() const { return static_cast<int>(misses_.size()); }
  int would_leave_out() const { return would_leave_out_; }
  int wrongly() const { return wrongly_; }
  int left_out() const { return left_out_; }

 private:
  struct Known {
    CodeFacts facts;
    double speed;
  };
  bool below(const std::optional<Guess>& guess, double incumbent) const;
  double distance(const CodeFacts& a, const CodeFacts& b) const;

  std::vector<Known> known_;
  std::map<std::string, std::pair<double, double>> ranges_;  // of each fact
  std::vector<double> misses_;                               // measured minus guessed, in order
  std::vector<double> measured_;                             // of the same kernels
  int bounded_ = 0, kept_to_ = 0;                            // guesses with a bound, and those that kept to it
  int would_leave_out_ = 0;                                  // of those that were measured
  int wrongly_ = 0;                                          // of these, better than the incumbent
  int left_out_ = 0;
  Random random_;
};

}  // namespace kw::agents
