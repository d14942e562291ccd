#include "cli/describe.h"

#include <cstdlib>

namespace kw::cli {

Result<Lengths> parse_dims(const std::vector<std::string>& texts) {
  Lengths dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    char* stop = nullptr;
    const long long value = equals == std::string::npos ? -1 : std::strtoll(text.c_str() + equals + 1, &stop, 10);
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size() || *stop != '\0' || value < 0) {
      return fail("--dim takes NAME=VALUE with a whole number, such as batch=1, not '{}'", text);
    }
    dims[text.substr(0, equals)] = value;
  }
  return dims;
}

}  // namespace kw::cli
