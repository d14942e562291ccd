// What a run may spend on models, and what it has spent. Shared by all who ask at the same time.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "llm/model.h"

namespace kw::llm {

struct Budget {
  std::optional<std::int64_t> tokens;  // in and out, as counted by the endpoint
  std::optional<double> usd;
  std::optional<double> seconds;  // from the first moment on, whatever they are spent with
};

struct Spent {
  std::int64_t requests = 0;  // answered or in trouble
  std::int64_t tries = 0;
  std::int64_t troubles = 0;
  Usage usage;
  double usd = 0;
  double waiting_s = 0;  // for answers, summed over all who asked
};

class Purse {
 public:
  explicit Purse(Budget budget = {}) : budget_(budget) {}

  // Why nothing may be asked any more; none while something is left.
  std::optional<Trouble> empty() const;
  // How much of the time and of the tokens is left; a large number where there is no limit.
  double seconds_left() const;
  std::int64_t tokens_left() const;

  void pay(const Answer& answer);
  Spent spent() const;

 private:
  const Budget budget_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex lock_;  // of what follows
  Spent spent_;
};

}  // namespace kw::llm
