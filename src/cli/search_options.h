// What the flags of a search say, checked before anything takes long: before frameworks are installed, roofs measured
// or a run begun.
#pragma once

#include "base/result.h"
#include "cli/commands.h"
#include "cli/search_run.h"

namespace kw::cli {

// Puts --budget, --strategy and --seed into the order; what was not given stays. An Error names the flag.
Status read_search_options(const Arguments& arguments, SearchOrder& order);

}  // namespace kw::cli
