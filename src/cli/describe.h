// Tasks and numbers as commands show them, and lengths as they are typed.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/task.h"
#include "runs/task_text.h"

namespace kw::cli {

using runs::summary_of;

// Ranges of lengths, as runs/over.h reads them.
Option over_option();
Option dim_option();
// The values of `--dim NAME=VALUE`. A name that is given two values is an Error.
Result<Lengths> parse_dims(const std::vector<std::string>& texts);

}  // namespace kw::cli
