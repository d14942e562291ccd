// Saving what can be read of a damaged store into a new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::store {

struct Rescued {
  struct Table {
    std::string name;
    std::int64_t saved = 0;    // rows
    std::int64_t dropped = 0;  // rows that could be read, but rest on others that could not
    bool damaged = false;      // some rows could not be read; how many is not known
  };
  std::vector<Table> tables;
  std::int64_t verdicts = 0;
  std::int64_t runs = 0;

  bool whole() const;
};

// The damaged store is only read. `to` must hold no store yet. Fails where not even the file's head can be read.
Result<Rescued> rescue(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace kw::store
