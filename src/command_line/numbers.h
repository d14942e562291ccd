// Numbers as flags take them. Whatever is no number, or out of range, is an error that names the flag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "command_line/command.h"

namespace kw::cli {

// What a flag says; none where it was not given.
Result<std::optional<std::int64_t>> whole_number(const Arguments& arguments, const std::string& flag,
                                                 std::int64_t least, std::int64_t most);
Result<std::int64_t> whole_number(const Arguments& arguments, const std::string& flag, std::int64_t otherwise,
                                  std::int64_t least, std::int64_t most);
// What a word says; `flag` is who gave it.
Result<std::int64_t> whole_number_in(const std::string& flag, const std::string& word, std::int64_t least,
                                     std::int64_t most);
Result<double> number_in(const std::string& flag, const std::string& word, double least, double most);

}  // namespace kw::cli
