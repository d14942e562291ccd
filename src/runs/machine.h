// This machine as the record knows it: what times on one of its devices depend on.
#pragma once

#include <string>

#include "judge/judge.h"
#include "store/records.h"

namespace kw::runs {

// Equal as long as it is the same device of the same machine: what the device says of itself, and the system's own
// number of the machine. Compilers and roofs may change meanwhile.
std::string machine_identity(const std::string& device = targets::usual_device());

// With compilers, kernel, roofs and the sandbox's isolation level; asks the compilers for their versions.
store::Machine this_machine(const std::string& device, const std::string& isolation);

}  // namespace kw::runs
