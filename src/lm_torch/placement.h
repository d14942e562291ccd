// Where a model is computed and in which numbers, as a request says it.
#pragma once

#include <c10/core/TensorOptions.h>

#include <string>

#include "base/result.h"

namespace kw::lm {

// Device "cpu", "cuda" or "cuda:N"; numbers "F32", "BF16" or "F16".
Result<at::TensorOptions> placement(const std::string& device, const std::string& numbers);

}  // namespace kw::lm
