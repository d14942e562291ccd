// What a client is told of a verdict.
//
// Hidden shapes and expected values never leave the judge. A verdict's reason, which `kw eval` shows to the person at
// this machine, may have both, and a kernel that knows the shape it is called with could put it into its own words and
// numbers. So of a reason about a shape that may be hidden, only words get through that are known beforehand; of one
// about the task's own shape, all but what was expected. Why a framework's time does not count may quote both: only its
// name is told.
#pragma once

#include <string>

#include "base/json.h"
#include "core/task.h"
#include "core/verdict.h"

namespace kw::mcp {

struct JobStatus;

// The JSON Schemas of the objects below, for tools that answer with them.
extern const char kProgressSchema[];

// {"accepted", "stage", "hint", "errors", "max_error", "time_ns", "speedup", "left_out", "roof_fraction", "noise", ...}
Json told(const Verdict& verdict);
// {"id", "task", "state", "ahead", "verdict" (null), "problem" (null)}
Json told(const JobStatus& progress);

// The same for a reader.
std::string told_as_text(const Verdict& verdict);
std::string told_as_text(const JobStatus& progress);

}  // namespace kw::mcp
