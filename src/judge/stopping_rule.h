// When has a comparison seen enough rounds? When its answer is clear, or its time is spent.
#pragma once

#include <functional>

#include "base/paired_ratio.h"

namespace kw::judge {

struct StoppingRule {
  double budget_s = 2;
  int fewest_rounds = 30;  // before an early end is thought of
  int most_rounds = 500;
  bool early = true;

  // After a number of rounds and of seconds; `clear` is asked only where its answer matters.
  bool ends(int rounds, double spent_s, const std::function<bool()>& clear) const;
};

// A rival kernel's answer is known when the difference is beyond the noise and the interval narrow, or when the
// interval is so narrow that there is none; a framework's only in the first case.
bool is_clear(const Ratio& ratio, double noise);
bool is_clear_or_equal(const Ratio& ratio, double noise);

}  // namespace kw::judge
