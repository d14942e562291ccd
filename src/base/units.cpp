#include "base/units.h"

#include <fmt/format.h>

#include <array>

namespace kw {

std::string with_unit(double value, std::string_view unit) {
  constexpr std::array<const char*, 5> kPrefixes{"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.3g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.3g} ms", time_ns / 1e6);
  return fmt::format("{:.3g} s", time_ns / 1e9);
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace kw
