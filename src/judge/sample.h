// Where does a kernel's time go? A right kernel runs on the task's own shape for a moment, and its process is asked
// again and again where in the code it is. For making it faster; no verdict depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "targets/target.h"

namespace kw::judge {

// Bytes from the code's beginning, as Device::look_into takes them. Empty where the device cannot tell or the kernel
// failed. An Error is a machine without memory.
Result<std::vector<std::uint64_t>> sample_calls(const Task& task, targets::Device& device, const targets::Built& built,
                                                int threads);

}  // namespace kw::judge
