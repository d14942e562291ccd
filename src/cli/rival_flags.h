// Which frameworks a command compares kernels with: what --rival or the setting rival says.
#pragma once

#include <string>

#include "cli/commands.h"
#include "judge/judge.h"
#include "runs/rivals.h"

namespace kw::cli {

Option rival_option();

// None where the command is not to time anything (--untimed), or where frameworks cannot run beside this device's
// kernels; asking for one there is an error.
Result<runs::Rivals> rivals_of(const Arguments& arguments, const std::string& device);
// What the settings allow. Installing is told on standard error.
runs::RivalSetup rival_setup();
// By what --rival could say, beside kernels on this device.
Result<runs::Rivals> rivals_named(const std::string& names, const std::string& device = targets::usual_device());

}  // namespace kw::cli
