// A CUDA kernel as a C++ kernel: its plan, and its device code with a CPU's version of what a GPU offers
// (kernels/cuda/emulated/), in one source of the CPU's contract.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cuda {

// Lines of `text` keep their numbers in a compiler's messages. What cannot be emulated becomes an error of its line.
// Fails where the files of kernels/cuda/emulated cannot be read.
Result<std::string> emulated_source(const std::string& text);

// The names of the kernels that a plan may launch, by the text alone.
std::vector<std::string> kernels_in(const std::string& text);

}  // namespace kw::cuda
