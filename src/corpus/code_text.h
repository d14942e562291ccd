// The text of a C++ source as code: what is comment or quoted is told apart, so that braces, names and statements can
// be found without a compiler. The source need not compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::corpus {

// The same text with blanks in place of comments and of what stands in quotes; line ends stay, so that offsets and
// lines are those of the source.
struct CodeText {
  enum class End { code, line_comment, comment, quotes };

  std::string text;
  End end = End::code;  // what the last byte belongs to
};
CodeText code_text(std::string_view source);

// Offsets of a pair of braces.
struct Braces {
  std::size_t open = 0;
  std::size_t close = 0;
};
// Of text without comments and quotes, in the order of their opening; what has no partner is left out.
std::vector<Braces> braces_of(std::string_view code);

// The offset after the statement that begins at or after `at`: a block, a loop or condition with all that belongs to
// it, or up to a semicolon. npos where it has no end.
std::size_t end_of_statement(std::string_view code, std::size_t at);

// Whole words: offsets of `word`.
std::vector<std::size_t> places_of_word(std::string_view code, std::string_view word);

// Without comments, blanks at the ends of lines, and empty lines but one in a row.
std::string without_comments(std::string_view source);

// What a kernel does not use is left out: functions, types, aliases and tunables at file or namespace scope that
// nothing else names, and comments. What is left compiles where the source does, unless a name means two things in it:
// a caller that needs to be sure has it judged.
std::string shortened(std::string_view source);

}  // namespace kw::corpus
