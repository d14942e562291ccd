// Unicode as tokenizers need it: characters of a UTF-8 text, normal forms, classes. Over utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw::lm {

// The character at `at`, which moves past it. A byte that begins no character counts as U+FFFD of its own.
std::int32_t next_character(std::string_view text, std::size_t& at);
void append_character(std::string& text, std::int32_t character);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// Text that is not UTF-8 is left as it is.
std::string normalised(std::string_view text, NormalForm form);
std::string lower_case(std::string_view text);
std::string without_marks(std::string_view text);  // nonspacing marks are taken out

bool is_white_space(std::int32_t character);
bool is_punctuation(std::int32_t character);  // as BERT has it: ASCII's symbols too
bool is_control(std::int32_t character);      // as BERT has it: tab, line ends and unassigned ones are none
bool is_chinese(std::int32_t character);      // the blocks of ideographs that BERT sets apart
bool is_word(std::int32_t character);         // letters, digits, marks, underscore

}  // namespace kw::lm
