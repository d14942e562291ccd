// A kernel's source as a user hands it in, and how it is written.
#pragma once

#include <string>

#include "base/result.h"
#include "judge/judge.h"

namespace kw::runs {

// An Error where it cannot be read or is no source text.
Result<judge::Source> read_kernel(const std::string& file);
// Of a path whose links were resolved and that was looked at: no link that has come there since is followed.
Result<judge::Source> read_checked_kernel(const std::string& path);

// How kernels of a device are written where not as include/kernelwright.h has it: the name of its target, of which
// there is a header include/kernelwright_NAME.h. Models are then told of it by prompts/contract_NAME.md.
std::string form_of(const std::string& device);
// "kernelwright.h": what kernels of the device include.
std::string contract_of(const std::string& device);

}  // namespace kw::runs
