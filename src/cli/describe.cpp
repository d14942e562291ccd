#include "cli/describe.h"

#include <limits>

#include "command_line/numbers.h"

namespace kw::cli {

Option dim_option() {
  return {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true};
}

Option over_option() {
  return {.name = "--over", .value = "NAME=1..64", .help = "times it over a range of an open length", .repeated = true};
}

Result<Lengths> parse_dims(const std::vector<std::string>& texts) {
  Lengths dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto value = whole_number_in("--dim", equals == std::string::npos ? "" : text.substr(equals + 1), 0,
                                       std::numeric_limits<std::int64_t>::max());
    if (equals == 0 || !value.ok()) {
      return fail("--dim takes NAME=VALUE with a whole number, such as batch=1, not '{}'", text);
    }
    const auto [given, is_new] = dims.emplace(text.substr(0, equals), *value);
    if (!is_new && given->second != *value) {
      return fail("--dim {} is given twice, as {} and as {}", given->first, given->second, *value);
    }
  }
  return dims;
}

}  // namespace kw::cli
