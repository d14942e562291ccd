// Tasks and numbers as commands show them, and lengths as they are typed.
#pragma once

#include <string>
#include <vector>

#include "core/task.h"
#include "runs/task_text.h"

namespace kw::cli {

using runs::name_of;
using runs::summary_of;

// The values of `--dim NAME=VALUE`.
Result<Lengths> parse_dims(const std::vector<std::string>& texts);

}  // namespace kw::cli
