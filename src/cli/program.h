// The program without its process: words in, text and an exit code out. main() calls it, and so do tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "command_line/help.h"

namespace kw::cli {

// Runs one command line (without the program's name). Answers go to `out`, messages to `err`.
int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

// Every command, sorted by name.
const std::vector<Command>& all_commands();

const ProgramText& about_kw();
std::string help_text();

}  // namespace kw::cli
