// Templates of the library that nearly every file uses are compiled once, in compiled_once.cpp, instead of in every
// file.
//
// libstdc++ holds std::string compiled, but for C++17 and before: in C++20 every object file gets a copy of its own.
// The build includes this in front of every source (KW_COMMON_HEADERS in cmake/modules.cmake); sources do not name it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

extern template class std::basic_string<char>;
extern template class std::vector<std::string>;
extern template class std::vector<std::int64_t>;
extern template class std::map<std::string, std::string>;
extern template class std::map<std::string, int>;
extern template class std::map<std::string, std::int64_t>;
