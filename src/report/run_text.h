// A run for a person, and as JSON for programs: what `kw runs` prints. Names and reasons in a record come from others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "report/letters.h"
#include "store/store.h"

namespace kw::report {

struct ShownState {
  std::string name;          // "working", "done"; a run that no program works on and that is not done is "stopped"
  std::optional<int> owner;  // the process that works on it
};
ShownState state_of(const store::Store& store, const store::RunSummary& run);

std::string cut_short(const std::string& text, std::size_t most);
// A name that is too long loses its middle: names of one family differ at their ends.
std::string short_name(const std::string& name, std::size_t most);
// "2026-01-31 12:00"; what is no time of the record's form stays as it is.
std::string short_time(const std::string& at);

// "Relu", or "Relu and 3 more": of a search that has judged nothing yet, what it set out for.
std::string tasks_text(const store::RunSummary& run, std::size_t most);
// What came of a run. What does not compare is never put into one number without saying so.
std::string headline(const store::RunSummary& run);
// What came of one item: "accepted  1.3 us  1.20 x mnn [1.1, 1.3]".
std::string outcome_of(const store::Recorded& one);

// The machines that a run's verdicts come from, by id.
Result<std::map<std::int64_t, store::Machine>> machines_of(const store::Store& store, std::int64_t run);

// Null where the text is no JSON.
Json json_or_null(const std::string& text);
Json json_of(const store::Store& store, const store::RunSummary& run);
Json item_as_json(const store::Recorded& one);

}  // namespace kw::report
