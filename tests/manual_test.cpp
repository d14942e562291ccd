#include "command_line/manual.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/scratch.h"
#include "cli/program.h"

namespace kw::cli {
namespace {

// What a reader sees of a page: roff's escapes undone, lines joined, its requests left out.
std::string read(const std::string& page) {
  std::string text;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(".")) text += line + " ";
  }
  const std::vector<std::pair<std::string, std::string>> escapes = {
      {"\\&", ""},    {"\\-", "-"}, {"\\(aq", "'"}, {"\\(ga", "`"}, {"\\(ha", "^"},
      {"\\(ti", "~"}, {"\\fB", ""}, {"\\fI", ""},   {"\\fR", ""},   {"\\e", "\\"}};
  for (const auto& [escape, shown] : escapes) {
    for (std::size_t at; (at = text.find(escape)) != std::string::npos;) text.replace(at, escape.size(), shown);
  }
  return text;
}

TEST(Manual, SaysWhatTheHelpOfEveryCommandSays) {
  for (const Command& command : all_commands()) {
    const std::string text = read(manual_page(about_kw(), command));
    EXPECT_NE(text.find("kw-" + command.name + " - " + command.summary), std::string::npos) << text;
    for (const Option& option : command.options) {
      EXPECT_NE(text.find(option.name), std::string::npos) << command.name << " " << option.name;
      EXPECT_NE(text.find(option.also), std::string::npos) << command.name << " " << option.also;
      EXPECT_NE(text.find(option.help), std::string::npos) << command.name << " " << option.help;
    }
    for (const std::string& example : command.examples) EXPECT_NE(text.find(example), std::string::npos) << example;
    std::istringstream lines(command.description);
    for (std::string line; std::getline(lines, line);) EXPECT_NE(text.find(line), std::string::npos) << line;
    EXPECT_NE(read(manual_page(about_kw(), all_commands())).find("kw-" + command.name + "(1) " + command.summary),
              std::string::npos);
  }
}

TEST(Manual, ShowsSignsThatRoffWouldTakeForItsOwn) {
  const Command command = {.name = "odd",
                           .summary = "takes \\n and -x",
                           .description = ".first line\n'second line\n\nkw.toml's `x`",
                           .examples = {}};
  const std::string page = manual_page(about_kw(), command);
  EXPECT_NE(page.find("takes \\en and \\-x\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.first line\n\\&\\(aqsecond line\n.PP\nkw.toml\\(aqs \\(gax\\(ga\n"), std::string::npos)
      << page;
}

TEST(Manual, IsAPageForKwAndOneForEachCommand) {
  const ScratchFolder folder;
  std::ostringstream out, err;
  ASSERT_EQ(run_program({"__man", (folder.path() / "man1").string()}, out, err), kYes) << err.str();
  EXPECT_EQ(*read_file(folder.path() / "man1" / "kw.1"), manual_page(about_kw(), all_commands()));
  for (const Command& command : all_commands()) {
    EXPECT_EQ(*read_file(folder.path() / "man1" / ("kw-" + command.name + ".1")), manual_page(about_kw(), command));
  }
}

}  // namespace
}  // namespace kw::cli
