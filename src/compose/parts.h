// The parts of kernels/cpu/parts as a library for kernels that others write: `#include <kw/vector.h>`. A kernel that is
// taken away has them in its own text. Device code of kernels/cuda has a name too, `#include <kw/rows.cuh>`: it becomes
// part of the text before a compiler sees it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::compose {

// Files of the library by the names that kernels include them with: "vector.h", sorted.
Result<std::vector<std::string>> library_parts();
// The text of one of them.
Result<std::string> library_part(const std::string& name);

// KW_PARTS_VERSION of version.h.
Result<std::string> library_version();

// The source with each `#include <kw/NAME>` replaced by the text of the part and of what it includes, each once, under
// a line with the library's version. A part that is not there stays as it is: the compiler names it. With the source's
// `name`, compilers count its lines as they were.
Result<std::string> with_parts_inlined(const std::string& source, const std::string& name = "");

}  // namespace kw::compose
