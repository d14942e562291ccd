// What a person sees of a search over many tasks: a line for each task as it ends, and the field's table.
#pragma once

#include <iosfwd>

#include "base/result.h"
#include "cli/progress.h"
#include "store/store.h"

namespace kw::cli {

// Works on the run until it is done, then prints the table, or one object as JSON. The exit code: yes where every task
// got a right kernel.
Result<int> search_and_report(store::Store& store, std::int64_t run, bool json, Progress& progress, std::ostream& out);

// The table, or the object, of a run that is done.
Result<int> report_figures(const store::Store& store, std::int64_t run, bool json, std::ostream& out);

}  // namespace kw::cli
