// What a built kernel asks of the world: a look at its shared library before anything of it runs.
#pragma once

#include <string>
#include <string_view>

namespace kw::cpu {

// What is wrong with the library, or empty: it must define kw_run and may import the C and C++ libraries' arithmetic
// and memory, and threads.
std::string check_library(std::string_view content);

}  // namespace kw::cpu
