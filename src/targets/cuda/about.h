// What is known of a GPU and of CUDA's tools without opening a device.
#pragma once

#include <string>

#include "base/result.h"
#include "targets/about.h"

namespace kw::cuda {

// Of "cuda" (0), "cuda:0", "cuda:1" ...
Result<int> gpu_number(const std::string& name);

// As the driver's files tell it; without a driver the note says so.
targets::DeviceFacts device_facts(const std::string& device);

targets::Tools tools(bool only_builders);

}  // namespace kw::cuda
