// The flags --quiet and --events of every command that works long.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "runs/progress.h"

namespace kw::cli {

// What --help of such a command says.
std::string progress_description();
// Both behind a command's own.
std::vector<Option> with_progress_options(std::vector<Option> options);
// As the arguments and the terminal say.
Result<std::unique_ptr<runs::Progress>> open_progress(const Arguments& arguments);

}  // namespace kw::cli
