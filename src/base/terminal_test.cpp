#include "base/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/random.h"

namespace kw {
namespace {

TEST(Terminal, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(fit_for_terminal("plain µs ×2 名\tx\n"), "plain µs ×2 名\tx\n");
  EXPECT_EQ(fit_for_terminal("\x1b]0;title\x07"), "\\u001b]0;title\\u0007");
  EXPECT_EQ(fit_for_terminal("a\rb\x7f\b"), "a\\u000db\\u007f\\u0008");
  EXPECT_EQ(fit_for_terminal("\xc2\x9b"
                             "31m"),
            "\\u009b31m")
      << "C1: a sequence of one character";
  EXPECT_EQ(fit_for_terminal("\xe2\x80\xae"
                             "exe.txt\xe2\x81\xa6"),
            "\\u202eexe.txt\\u2066");
  EXPECT_EQ(fit_for_terminal("\xff\x9b\xc3"), "\\xff\\x9b\\xc3") << "no UTF-8, and cut off";
  EXPECT_EQ(fit_for_terminal("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80") << "overlong, half a pair";
  EXPECT_EQ(fit_for_a_line("two\nlines\t"), "two\\nlines\\t");
}

TEST(Terminal, LetsNothingThroughInPieces) {
  const std::string hostile = "x\x1b[2J\xc2\x9b\xe2\x80\xae\xf0\x9f\x98\x80 end\xe2\x80";
  std::ostringstream whole;
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::ostringstream inside;
    {
      TerminalBuffer buffer(*inside.rdbuf(), false);
      std::ostream out(&buffer);
      for (std::size_t at = 0; at < hostile.size();) {
        const auto count = static_cast<std::size_t>(random.integer(1, 4));
        out << hostile.substr(at, count) << std::flush;
        at += count;
      }
    }
    EXPECT_EQ(inside.str(), fit_for_terminal(hostile));
  }
}

TEST(Terminal, GivesSourcesExactlyExceptToATerminal) {
  for (const bool is_terminal : {false, true}) {
    std::ostringstream inside;
    {
      TerminalBuffer buffer(*inside.rdbuf(), is_terminal);
      std::ostream out(&buffer);
      std::ostream(exact_buffer(out)) << "a\x1b\xff";
    }
    EXPECT_EQ(inside.str(), is_terminal ? "a\\u001b\\xff" : "a\x1b\xff");
  }
}

TEST(ShellWord, IsOneWordWhateverItHolds) {
  EXPECT_EQ(shell_word("model.onnx:Conv_3"), "model.onnx:Conv_3");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$(id)`id`"), "'$(id)`id`'");
  EXPECT_EQ(shell_word("x'; touch y; '"), R"('x'\''; touch y; '\''')");
  EXPECT_EQ(shell_word("a\nb'\\"), R"($'a\012b\'\\')");
}

}  // namespace
}  // namespace kw
