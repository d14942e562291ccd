#include "cli/search_flags.h"

#include <limits>

#include "command_line/numbers.h"
#include "search/engine.h"

namespace kw::cli {

Status check_search(const runs::SearchTerms& terms) {
  if (const auto budget = search::parse_budget(terms.budget); !budget.ok()) {
    return fail("--budget {}", budget.error().message);
  }
  if (const auto kind = search::find_strategy(terms.strategy); !kind.ok()) {
    return fail("--strategy: {}", kind.error().message);
  }
  return {};
}

Result<std::int64_t> seed_of(const Arguments& arguments) {
  return whole_number(arguments, "--seed", 1, 0, std::numeric_limits<std::int64_t>::max());
}

Result<double> time_in(const std::string& flag, const std::string& text) {
  const auto budget = search::parse_budget(text);
  if (!budget.ok() || budget->seconds <= 0) return fail("{} {}: say a time, such as 20m or 2h", flag, text);
  return budget->seconds;
}

}  // namespace kw::cli
