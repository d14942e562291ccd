// A task in another type of floats: the same graph on tensors of float16, bfloat16 or float64.
#pragma once

#include "core/task.h"

namespace kw::ops {

// All tensors of floats in `dtype`, constants and weights with their values among them, and casts to floats. The name
// stays.
Task retyped(Task task, DType dtype);

}  // namespace kw::ops
