// A program as a filter: it is given text, and what it prints is the answer.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace kw {

struct FilterLimits {
  double first_byte_s = 1e9;  // until it prints anything
  double whole_s = 60;
  std::size_t most_bytes = std::size_t{16} << 20;  // of what it prints
};

struct Filtered {
  enum class End { exited, silent, late, too_large, stopped };  // all but the first: it was killed
  End end = End::exited;
  int exit_code = 0;  // 128 and the signal's number where one ended it
  std::string out;
  std::string err;  // the last of it

  bool well() const { return end == End::exited && exit_code == 0; }
};

// Fails only where the program cannot be started. What it starts in turn is killed with it.
Result<Filtered> run_filter(const std::vector<std::string>& words, std::string_view input,
                            const FilterLimits& limits = {}, const std::stop_token& stop = {},
                            Surroundings surroundings = Surroundings::neutral);

}  // namespace kw
