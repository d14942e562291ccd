// The words of a command line, by the options of a command.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"

namespace kw::cli {

// The words after a command's name; errors name the word and what was expected.
Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words);

}  // namespace kw::cli
