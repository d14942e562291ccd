// A kernel's source with other defaults: what a tuner found becomes what the next reader sees.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/tunables.h"

namespace kw {

// The source with the default of each tunable in `settings` replaced, and with the compiler and flags among them first
// in KW_COMPILER and KW_FLAGS, which are added where they are missing. The values worth trying stay. Built without
// settings it is what the old source was with them.
Result<std::string> with_defaults(std::string_view source, const Settings& settings, const BuildOptions& options);

}  // namespace kw
