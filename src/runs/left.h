// What is left of a run, and what it would reach for on this machine: what a person wants to know before going on with
// it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kw::runs {

struct Left {
  std::int64_t left = 0;  // lines of a batch, tasks of an author
  std::int64_t total = 0;
  std::string text;  // "2 of 3 tasks left"
};
// A search plans as it goes: how much is left of it is not known.
Result<Left> left_of(const store::Store& store, const store::RunSummary& run);

// What a run would have this program run, read, ask or write to.
std::vector<std::string> reach_of(const store::RunSummary& run);

}  // namespace kw::runs
