// toml++, made fit for text from outside. Heavy: for .cpp files only, and the only header that includes it.
//
// Its parser asserts things that a text can break: "[=" would end the program. Here a broken assertion is a
// toml::parse_error, as every other fault of the text.
#pragma once

#include <string>

namespace kw {
[[noreturn]] void refuse_toml();
}
#define TOML_HEADER_ONLY 0  // the parser is compiled in toml.cpp
#define TOML_ASSERT(expression) (static_cast<bool>(expression) ? void(0) : ::kw::refuse_toml())
#include <toml++/toml.h>

namespace kw {
// "FILE:3:7", or the file alone where the parser does not know the place.
std::string place_in_toml(const std::string& file, const toml::source_region& region);
}  // namespace kw
