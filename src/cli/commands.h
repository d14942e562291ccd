// The commands of kw. Each file commands/NAME.cpp defines `Command NAME();` in this namespace's `commands`; the build
// writes the table from the folder, and a test runs the examples of every help.
#pragma once

#include <span>

#include "command_line/command.h"

namespace kw::cli::commands {

using Maker = Command (*)();
extern const std::span<const Maker> table;

}  // namespace kw::cli::commands
