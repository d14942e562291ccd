// A number that cannot be known outside of this process: what all draws of the judge begin with.
#pragma once

#include <cstdint>

namespace kw::judge {

std::uint64_t secret();

}  // namespace kw::judge
