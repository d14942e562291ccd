#include "compose/outside_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::compose {
namespace {

constexpr std::size_t kMostOfAName = 60;
constexpr std::size_t kMostOfARemark = 400;

// Not those of <cctype>, which depend on the locale.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_plain(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }

// Runs of anything else become one underscore: two in a row are reserved for the compiler. None at the ends. Of a long
// name the end is kept: names of a model's tensors begin alike.
std::string words_of(std::string_view text) {
  std::string words;
  for (const char c : text) {
    if (is_plain(c)) {
      words += c;
    } else if (!words.ends_with('_')) {
      words += '_';
    }
  }
  if (words.ends_with('_')) words.pop_back();
  if (words.size() > kMostOfAName) words.erase(0, words.size() - kMostOfAName);
  if (words.starts_with('_')) words.erase(0, 1);
  return words;
}

}  // namespace

std::string Identifiers::add(std::string_view name) {
  std::string made = words_of(name);
  if (made.empty() || is_digit(made[0])) made.insert(0, "t");
  if (is_upper(made[0])) made[0] = static_cast<char>(made[0] - 'A' + 'a');
  const bool short_one = std::ranges::all_of(made.begin() + 1, made.end(), is_digit);
  const std::string end = short_one ? "" : "_";
  int& times = times_[made];
  std::string unique;
  do {
    unique = ++times == 1 ? made + end : fmt::format("{}_{}_", made, times);
  } while (!taken_.insert(unique).second);
  return unique;
}

std::string remark(std::string_view text) {
  constexpr std::string_view kAllowed = " _.,:;+-=<>()[]{}/!%&|'#~^";
  std::string made;
  for (const char c : text.substr(0, kMostOfARemark)) {
    made += is_plain(c) || kAllowed.find(c) != std::string_view::npos ? c : '_';
  }
  return text.size() > kMostOfARemark ? made + "..." : made;
}

std::string string_literal(std::string_view text) {
  constexpr std::string_view kAllowed = " _.,:;+-=<>()[]{}/*#";
  std::string made = "\"";
  for (const char c : text) {
    if (is_plain(c) || kAllowed.find(c) != std::string_view::npos) {
      made += c;
    } else {
      made += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return made + "\"";
}

std::string file_stem(std::string_view text) {
  std::string made;
  for (const char c : text.substr(0, kMostOfAName)) made += is_plain(c) ? c : '_';
  return made.empty() ? "kernel" : made;
}

}  // namespace kw::compose
