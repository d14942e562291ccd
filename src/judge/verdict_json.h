// A verdict as JSON: what `kw eval --json` prints and what is kept between runs.
//
//   task, target, accepted, stage, reason (null), reason_code, reason_params, on_hidden_case (src/core/reason.h; only
//   where there is a reason), errors: [{file, line, message, around}], max_error, time_ns (null), caches ("warm",
//   "cold"), speedup: {RIVAL: {median, low, high, pairs, claimed}}, roof_fraction (null), noise (null), isolation
//   level, varies, kept; only_quick_check (only where a search looked at it no further)
#pragma once

#include <string>

#include "base/result.h"
#include "core/verdict.h"

namespace kw::judge {

// One line.
std::string verdict_as_json(const Verdict& verdict);
Result<Verdict> verdict_from_json(const std::string& text);

}  // namespace kw::judge
