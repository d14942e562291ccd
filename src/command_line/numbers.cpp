#include "command_line/numbers.h"

#include <charconv>

namespace kw::cli {

Result<std::int64_t> whole_number_in(const std::string& flag, const std::string& word, std::int64_t least,
                                     std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, problem] = std::from_chars(word.data(), end, value);
  if (word.empty() || problem != std::errc() || stop != end || value < least || value > most) {
    return fail("{} takes a whole number from {} to {}, not '{}'", flag, least, most, word);
  }
  return value;
}

Result<double> number_in(const std::string& flag, const std::string& word, double least, double most) {
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, problem] = std::from_chars(word.data(), end, value);
  if (word.empty() || problem != std::errc() || stop != end || !(value >= least && value <= most)) {
    return fail("{} takes a number from {} to {}, not '{}'", flag, least, most, word);
  }
  return value;
}

Result<std::optional<std::int64_t>> whole_number(const Arguments& arguments, const std::string& flag,
                                                 std::int64_t least, std::int64_t most) {
  if (!arguments.has(flag)) return std::optional<std::int64_t>();
  KW_TRY(const std::int64_t value, whole_number_in(flag, arguments.text(flag), least, most));
  return std::optional(value);
}

Result<std::int64_t> whole_number(const Arguments& arguments, const std::string& flag, std::int64_t otherwise,
                                  std::int64_t least, std::int64_t most) {
  KW_TRY(const auto given, whole_number(arguments, flag, least, most));
  return given.value_or(otherwise);
}

}  // namespace kw::cli
