// Files in folders that another program may change while kw works in them.
//
// A path that was checked and is then opened by its name may lead elsewhere the second time: a file, or a folder on the
// way to it, was exchanged for a link in between. And a folder that is written into may have come with a link in the
// place of a folder below it. So here a path is walked part by part, from one open folder to the next, and a link is
// never followed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// A regular file of at most `most_bytes`. No part of the path may be a link: what fs::canonical gave is read from where
// it lay then, or not at all.
Result<std::string> read_without_links(const std::filesystem::path& path, std::uint64_t most_bytes);
// `count` bytes of such a file from `offset`; fails where it is shorter.
Result<std::string> read_part_without_links(const std::filesystem::path& path, std::uint64_t offset,
                                            std::uint64_t count);

// A file below a folder, by its path from there, as write_file writes it; folders on the way are made. The folder
// itself may be a link: its name is the user's.
Status write_inside(const std::filesystem::path& folder, const std::filesystem::path& path, std::string_view content);

}  // namespace kw
