// The flag --target: on which device kernels are built, judged and timed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"

namespace kw::cli {

Option target_option();

// The device that is meant: what --target or the setting says; else what the endings of the sources say, which belong
// to one target; else the CPU. An Error where there is no such target, or the sources are for another.
Result<std::string> device_of(const Arguments& arguments, const std::vector<std::string>& sources = {});

// For commands that tell results against what the device can do at most: measures that where it is not known yet, and
// says so on standard error. Without it a command goes on all the same.
void know_roofs(const std::string& device);

}  // namespace kw::cli
