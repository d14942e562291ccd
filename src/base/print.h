// Formatted text to a stream. As fmt::print(std::ostream&, ...), which compiles fmt's whole formatter again in every
// file that calls it: 1.6 seconds each.
#pragma once

#include <fmt/core.h>

#include <iosfwd>
#include <utility>

namespace kw {

void print_formatted(std::ostream& out, fmt::string_view format, fmt::format_args args);

template <class... Args>
void print(std::ostream& out, fmt::format_string<Args...> format, Args&&... args) {
  print_formatted(out, format, fmt::make_format_args(args...));
}

}  // namespace kw
