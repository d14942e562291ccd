// A kernel's source as a user hands it in.
#pragma once

#include <string>

#include "base/result.h"
#include "judge/judge.h"

namespace kw::runs {

// An Error where it cannot be read or is no source text.
Result<judge::Source> read_kernel(const std::string& file);
// Of a path whose links were resolved and that was looked at: no link that has come there since is followed.
Result<judge::Source> read_checked_kernel(const std::string& path);

}  // namespace kw::runs
