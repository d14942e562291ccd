// toml++'s parser, compiled here alone: with the assertions of toml.h, which the library's own build does not have.
#define TOML_IMPLEMENTATION
#include "base/toml.h"

namespace kw {

void refuse_toml() { throw toml::parse_error("this is no TOML", toml::source_region{}); }

std::string place_in_toml(const std::string& file, const toml::source_region& region) {
  if (region.begin.line == 0) return file;
  return file + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
}

}  // namespace kw
