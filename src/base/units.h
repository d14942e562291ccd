// Quantities as people read them.
#pragma once

#include <string>
#include <string_view>

namespace kw {

std::string with_unit(double value, std::string_view unit);  // 1.05e6, "flop" -> "1.05 Mflop"
std::string time_text(double time_ns);                       // "12.3 us"
std::string percent_text(double share);                      // 0.123 -> "12.3 %"

}  // namespace kw
