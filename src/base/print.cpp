#include "base/print.h"

#include <fmt/format.h>

#include <ostream>

namespace kw {

void print_formatted(std::ostream& out, fmt::string_view format, fmt::format_args args) {
  out << fmt::vformat(format, args);
}

}  // namespace kw
