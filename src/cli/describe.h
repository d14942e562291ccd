// Tasks and numbers as commands show them, and lengths as they are typed.
#pragma once

#include <string>
#include <vector>

#include "kernel/task.h"
#include "workbench/task_text.h"

namespace kw::cli {

using workbench::name_of;
using workbench::summary_of;
using workbench::time_text;
using workbench::with_unit;

// The values of `--dim NAME=VALUE`.
Result<Lengths> parse_dims(const std::vector<std::string>& texts);

}  // namespace kw::cli
