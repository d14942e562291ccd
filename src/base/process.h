// Running another program and waiting for it, within a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// Its exit code; 128 and the signal's number where one ended it. What it prints goes into `log`, which is written anew
// or, with `append`, written on. Fails where the program cannot be started or the time runs out; then it is killed.
Result<int> run_program(const std::vector<std::string>& words, const std::filesystem::path& log, bool append,
                        std::chrono::seconds most_time);

}  // namespace kw
