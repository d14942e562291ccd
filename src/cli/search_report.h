// What a person sees of a search over many tasks: a line for each task as it ends, and the field's table.
#pragma once

#include <iosfwd>

#include "base/result.h"
#include "store/store.h"

namespace kw::cli {

struct SearchManner {
  bool json = false;   // one object at the end, in place of the table
  bool quiet = false;  // no lines on the way
};

// Works on the run until it is done. The exit code: yes where every task got a right kernel.
Result<int> search_and_report(store::Store& store, std::int64_t run, const SearchManner& manner, std::ostream& out);

}  // namespace kw::cli
