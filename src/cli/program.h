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

}  // namespace kw::cli
