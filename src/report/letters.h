// Letters of a text in UTF-8, which may be several bytes each.
#pragma once

#include <algorithm>
#include <string>

namespace kw::report {

inline bool continues_a_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

inline int letters_of(const std::string& text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return !continues_a_letter(c); }));
}

// Control characters become spaces: no letter of others steers the terminal, and a table's row stays one.
inline std::string harmless(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  }
  return text;
}

}  // namespace kw::report
