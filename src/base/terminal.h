// Text from outside, made fit for a terminal.
//
// Names of nodes and files, authors, answers of models and reasons may hold what a terminal obeys: escape sequences
// that rewrite the screen or the clipboard, control characters, and Unicode's controls of direction, which show a text
// in another order than it has. Such characters are shown as escapes: \u001b, \u202e. Everything that the program
// prints passes through here (cli/program.cpp), except texts that other programs read, where they do not go to a
// terminal.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace kw {

// Line ends and tabs stay; bytes that are no UTF-8 become \xff.
std::string fit_for_terminal(std::string_view text);
// The same for a name that must stay in its line: line ends and tabs are escaped too.
std::string fit_for_a_line(std::string_view name);

// A word of a command that is printed for a person to copy: whatever it holds, a shell takes it as one word and runs
// nothing of it.
std::string shell_word(std::string_view text);

// Passes on to another buffer what is fit for a terminal. A character that comes in two parts is put together.
class TerminalBuffer : public std::streambuf {
 public:
  TerminalBuffer(std::streambuf& to, bool is_terminal) : to_(to), is_terminal_(is_terminal) {}
  ~TerminalBuffer() override;

 protected:
  int overflow(int character) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  friend std::streambuf* exact_buffer(std::ostream& out);
  bool pass_on(std::string_view text);
  bool flush_part();

  std::streambuf& to_;
  const bool is_terminal_;
  std::string part_;  // of a character
};

// For a text that a program or a file wants byte for byte, such as a kernel's source: where `out` writes to, unless
// that is a terminal. `std::ostream(exact_buffer(out)) << source`.
std::streambuf* exact_buffer(std::ostream& out);

}  // namespace kw
