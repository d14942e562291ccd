// Element types as kernels name them.
#pragma once

#include <string>

#include "core/dtype.h"

namespace kw {

// "float", "int64_t", "kw::float16"
std::string cpp_type(DType dtype);

}  // namespace kw
