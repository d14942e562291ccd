// The table of targets that the build writes from the folders of src/targets.
#pragma once

#include <span>

#include "targets/target.h"

namespace kw::targets {

using Maker = Target (*)();
extern const std::span<const Maker> table;

}  // namespace kw::targets
