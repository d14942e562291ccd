// The two things that run locked up: a compiler, and a kernel.
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

}  // namespace kw::host
