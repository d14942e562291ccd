// A round as the record keeps it, and back: what lets a session go on after its program has ended.
//
// The label of a round's item says its number, its role and where it began; the candidate's notes are the plan in the
// author's words. What a kernel's machine code looked like is kept too, so that nothing is built again to be told of.
#pragma once

#include <string>
#include <vector>

#include "agents/author.h"
#include "base/json.h"
#include "base/result.h"
#include "store/store.h"

namespace kw::agents {

Json json_of(const Comparison& one);
// None where it is null. Throws a JsonError where it is no comparison.
std::optional<Comparison> comparison_of(const Json& json);

// JSON.
Json json_of(const Lines& lines);
// Of an object's member "hot"; lines that are none: not known.
Lines hot_lines_of(const Json& json);
std::string label_of(const Round& round);
std::string notes_of(const Round& round);
// What the item of a round is for: the kernel that an author was given is no answer of its own.
store::Purpose purpose_of(const Round& round);

// Adds a round to those before it. What the last of these taught is said in the new one's plan.
void add_to(std::vector<Round>& rounds, Round round);

// A task's rounds in a run.
struct RecordedRounds {
  std::vector<Round> rounds;            // each at its number; without a gap
  std::vector<std::string> candidates;  // their hashes; empty where there is none
};
// By the hashes of tasks.
Result<std::map<std::string, RecordedRounds>> recorded_rounds(const store::Store& store, std::int64_t run);

}  // namespace kw::agents
