// Attacks that people wrote, from a file: kept so that every round can be tried again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::siege {

struct ByHand {
  std::string task;
  std::string what;
  std::string code;  // the body of `static bool wrong(const kw_call*)`, or an expression
};

// The file's form stands at the top of siege_by_hand.txt.
Result<std::vector<ByHand>> read_by_hand(const std::filesystem::path& file);

// A kernel that is `plain` but where the condition holds: there one element of the first output is wrong.
std::string source_of(const ByHand& attack, const std::string& plain);

}  // namespace kw::siege
