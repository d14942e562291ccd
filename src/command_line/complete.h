// What a shell offers at the tab key. The scripts in completions/ call `kw __complete WORD...`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line/command.h"

namespace kw::cli {

// The values of a kind that there are now; the single answer ":files" asks the shell for its own names of files.
using ValuesFor = std::function<std::vector<std::string>(Completes)>;

// The ways to go on with the last of the words after the program's name (it may be empty), one each.
std::vector<std::string> completions(const std::vector<Command>& commands, const std::vector<std::string>& words,
                                     const ValuesFor& values_for);

}  // namespace kw::cli
