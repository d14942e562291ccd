// toml++, made fit for text from outside. Heavy: for .cpp files only, and the only file that includes it.
//
// Its parser asserts things that a text can break: "[=" would end the program. Here a broken assertion is a
// toml::parse_error, as every other fault of the text.
#pragma once

#include <string>

namespace kw {
[[noreturn]] void refuse_toml();
}
#define TOML_ASSERT(expression) (static_cast<bool>(expression) ? void(0) : ::kw::refuse_toml())
#include <toml++/toml.h>

namespace kw {
[[noreturn]] inline void refuse_toml() { throw toml::parse_error("this is no TOML", toml::source_region{}); }

// "FILE:3:7", or the file alone where the parser does not know the place.
inline std::string place_in_toml(const std::string& file, const toml::source_region& region) {
  if (region.begin.line == 0) return file;
  return file + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
}
}  // namespace kw
