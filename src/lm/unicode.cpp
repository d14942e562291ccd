#include "lm/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace kw::lm {

std::int32_t next_character(std::string_view text, std::size_t& at) {
  utf8proc_int32_t character = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const auto taken = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &character);
  if (taken <= 0) {
    ++at;
    return 0xFFFD;
  }
  at += static_cast<std::size_t>(taken);
  return character;
}

void append_character(std::string& text, std::int32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes = {};
  const auto count = utf8proc_encode_char(character, bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

std::string normalised(std::string_view text, NormalForm form) {
  bool ascii = true;
  for (const char byte : text) ascii = ascii && static_cast<unsigned char>(byte) < 0x80;
  if (ascii) return std::string(text);
  int options = UTF8PROC_STABLE;
  if (form == NormalForm::nfc || form == NormalForm::nfkc) options |= UTF8PROC_COMPOSE;
  if (form == NormalForm::nfd || form == NormalForm::nfkd) options |= UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &made, static_cast<utf8proc_option_t>(options));
  if (length < 0) return std::string(text);
  std::string result(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length));
  std::free(made);
  return result;
}

std::string lower_case(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::int32_t character = next_character(text, at);
    append_character(made, utf8proc_tolower(character));
    if (character == 0x130) append_character(made, 0x307);  // the one whose lower case is two characters
  }
  return made;
}

std::string without_marks(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::int32_t character = next_character(text, at);
    if (utf8proc_category(character) != UTF8PROC_CATEGORY_MN) append_character(made, character);
  }
  return made;
}

bool is_white_space(std::int32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(std::int32_t c) {
  if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126)) return true;
  const auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_control(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const auto category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

bool is_chinese(std::int32_t c) {
  constexpr std::array kBlocks = {std::pair{0x4E00, 0x9FFF},   std::pair{0x3400, 0x4DBF},   std::pair{0x20000, 0x2A6DF},
                                  std::pair{0x2A700, 0x2B73F}, std::pair{0x2B740, 0x2B81F}, std::pair{0x2B920, 0x2CEAF},
                                  std::pair{0xF900, 0xFAFF},   std::pair{0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

bool is_word(std::int32_t c) {
  const auto category = utf8proc_category(c);
  return c == '_' || (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO);
}

}  // namespace kw::lm
