// The table of operator families. Each file families/NAME.cpp defines `std::vector<Op> NAME();` in this namespace;
// the build writes the table from the folder, so a new file is all that a new family needs.
#pragma once

#include <span>
#include <vector>

#include "ops/op.h"

namespace kw::ops::families {

using Family = std::vector<Op> (*)();
extern const std::span<const Family> table;

}  // namespace kw::ops::families
