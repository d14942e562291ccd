// What can stand for a task, a suite, a run, now and here: for shell completion.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"

namespace kw::cli {

std::vector<std::string> values_for(Completes what);

}  // namespace kw::cli
