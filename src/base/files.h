// Reading and writing whole files, with messages a person can act on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// Refuses directories and files above `most_bytes`, naming the path.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most_bytes = std::uint64_t{1} << 31);

// Writes beside the target and renames, so that a reader never sees half a file and a failure leaves the old one.
Status write_file(const std::filesystem::path& path, std::string_view content);

// Where the program's own data (suites, ...) lies: $KW_DATA, or ../share/kernelwright beside the executable's folder.
Result<std::filesystem::path> data_folder();

// $XDG_CACHE_HOME/kernelwright or ~/.cache/kernelwright; not created.
std::filesystem::path cache_folder();

}  // namespace kw
