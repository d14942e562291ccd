// NVIDIA's compute-sanitizer, under which a worker (worker/main.cpp) runs a kernel: where it is, and what its log says.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "targets/target.h"

namespace kw::cuda {

// What it can look for: memory that is not a tensor's, races in shared memory, memory that nothing has written.
inline constexpr const char* kSanitizerTools[] = {"memcheck", "racecheck", "initcheck"};

// The program: in PATH, in $KW_CUDA or in CUDA's usual folders.
Result<std::string> find_sanitizer();

// The words that run a program under it, up to that program's own.
std::vector<std::string> sanitizer_words(const std::string& program, const std::string& tool);

// Errors with the lines that say where they are; a log that does not end in a summary has the problem "it did not
// finish".
targets::ToolFindings findings_in(const std::string& tool, const std::string& log);

}  // namespace kw::cuda
