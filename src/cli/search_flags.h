// The flags of searches over tunables. Each error names its flag.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "runs/order.h"

namespace kw::cli {

// --budget and --strategy.
Status check_search(const runs::SearchTerms& terms);
// --seed; 1 unless it is given.
Result<std::int64_t> seed_of(const Arguments& arguments);
// "18m", in seconds.
Result<double> time_in(const std::string& flag, const std::string& text);

}  // namespace kw::cli
