// What a shell offers at the tab key. The scripts in completions/ call `kw __complete WORD...`.
#pragma once

#include <string>
#include <vector>

namespace kw::cli {

// The ways to go on with the last of the words behind the program's name (it may be empty), one each. The single
// answer ":files" asks the shell for its own names of files.
std::vector<std::string> completions(const std::vector<std::string>& words);

}  // namespace kw::cli
