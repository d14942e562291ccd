// A kernel's source as a user hands it in.
#pragma once

#include <string>

#include "base/result.h"
#include "judge/judge.h"

namespace kw::runs {

// An Error where it cannot be read or is no source text.
Result<judge::Source> read_kernel(const std::string& file);

}  // namespace kw::runs
