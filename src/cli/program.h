// The program without its process: words in, text and an exit code out. main() calls it, and so do tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace kw::cli {

// Runs one command line (without the program's name). Answers go to `out`, messages to `err`.
int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

// The words behind a command's name, by its options; errors name the word and what was expected.
Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words);

// Every command, sorted by name.
const std::vector<Command>& all_commands();

std::string help_text();
std::string help_text(const Command& command);

// What --help and the manual (manual.h) both say.
inline constexpr char kAbout[] = "compute kernels, tested hard and made fast";
inline constexpr char kUse[] =
    "`kw COMMAND --help` explains one. A task is named by its name in a suite, by suite.toml:NAME, or as\n"
    "model.onnx:NODE.";
inline constexpr char kExitCodes[] = "0 yes, 1 no, 2 wrong use or a broken machine.";
inline constexpr char kSettingsOrder[] =
    "by a flag, else the environment (KW_RIVAL for rival), else kw.toml in the working directory or above\n"
    "it, else in $XDG_CONFIG_HOME/kernelwright (~/.config/kernelwright):";
inline constexpr char kHelpHelp[] = "this text";

}  // namespace kw::cli
