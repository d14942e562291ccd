#include "cli/describe.h"

#include <limits>

#include "cli/numbers.h"

namespace kw::cli {

Result<Lengths> parse_dims(const std::vector<std::string>& texts) {
  Lengths dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto value = whole_number_in("--dim", equals == std::string::npos ? "" : text.substr(equals + 1), 0,
                                       std::numeric_limits<std::int64_t>::max());
    if (equals == 0 || !value.ok()) {
      return fail("--dim takes NAME=VALUE with a whole number, such as batch=1, not '{}'", text);
    }
    dims[text.substr(0, equals)] = *value;
  }
  return dims;
}

}  // namespace kw::cli
