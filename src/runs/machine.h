// This machine as the record knows it: what times depend on.
#pragma once

#include <string>

#include "store/records.h"

namespace kw::runs {

// Equal as long as it is the same machine: processor, cores, caches, and the system's own number of it. Compilers and
// roofs may change meanwhile.
std::string machine_identity();

// With compilers, kernel, roofs and the sandbox's tier; asks the compilers for their versions.
store::Machine this_machine(const std::string& tier);

}  // namespace kw::runs
