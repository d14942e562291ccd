// What runs locked up: a compiler, a kernel, and an emulated device.
#pragma once

#include <vector>

#include "sandbox/warden.h"

namespace kw::host {

// Role "tool". Arguments: words, each ended by a zero byte: the name that the source gets, the name of the file that is
// made, then the command. Descriptors: the source, the file to fill with what was made, the file to fill with what the
// tool said.
sandbox::Role tool_role();

// Role "kernel": loads a kernel and runs it as control.h says.
sandbox::Role kernel_role();

// Role "agent": an emulated device. Arguments: the command, which finds the agent as "agent" in its folder.
// Descriptors: the agent's program, its standard input, output and error.
sandbox::Role agent_role();

}  // namespace kw::host
