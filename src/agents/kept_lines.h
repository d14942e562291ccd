// The files of JSON lines in which authors keep what a later round or run reads: lessons, the journal of a run, the
// decisions of a tape.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::agents {

// All lines of such a file, which has a limit that no honest one reaches.
Result<std::vector<std::string>> kept_lines(const std::filesystem::path& file);
// Appends whole lines in one write, so that two programs do not mix theirs; the file is made where it is missing.
Status keep_lines(const std::filesystem::path& file, const std::string& lines);

}  // namespace kw::agents
