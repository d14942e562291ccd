#include "cli/search_options.h"

#include <charconv>

#include "search/engine.h"
#include "search/strategy.h"

namespace kw::cli {

Status read_search_options(const Arguments& arguments, SearchOrder& order) {
  if (arguments.has("--budget")) {
    order.budget = arguments.text("--budget");
    if (const auto budget = search::parse_budget(order.budget); !budget.ok()) {
      return fail("--budget {}", budget.error().message);
    }
  }
  if (arguments.has("--strategy")) {
    order.strategy = arguments.text("--strategy");
    if (const auto kind = search::find_strategy(order.strategy); !kind.ok()) {
      return fail("--strategy: {}", kind.error().message);
    }
  }
  if (arguments.has("--seed")) {
    const std::string text = arguments.text("--seed");
    const auto read = std::from_chars(text.data(), text.data() + text.size(), order.seed);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      return fail("--seed {}: a whole number, please", text);
    }
  }
  return {};
}

}  // namespace kw::cli
