// What --help prints, of a program and of one command.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"

namespace kw::cli {

inline constexpr char kHelpHelp[] = "this text";

std::string help_text(const ProgramText& program, const std::vector<Command>& commands);
std::string help_text(const Command& command);

}  // namespace kw::cli
