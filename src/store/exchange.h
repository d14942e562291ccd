// A run as files: JSON Lines that hold all of it and can be taken back on any machine, a table, a folder of kernels.
//
// JSON Lines: every line is an object with its "kind".
//   run        format, origin, began_at, state, command, suite, author, strategy, seed, rules
//   machine    number (by which verdicts name it), identity, name, facts
//   task       hash, name, suite, category, text
//   source     hash, text; "hex" in place of text where it is no UTF-8
//   candidate  hash, source, file, settings, author, parents, notes
//   rival      name, source: the files that candidates were timed against
//   item       position, purpose, task, candidate, build, label, problem, verdict: null, or {at, spent_s, machine,
//   terms,
//              kept, key, verdict (as kw eval --json prints it), against: [{rival, version, median, low, high, pairs,
//              claimed, times: [[candidate's ns, rival's ns], ...]}]}
//   end        lines: how many there are before it, so that a cut-off file is known
// Things stand before what names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace kw::store {

inline constexpr int kExchangeFormat = 1;

Status export_json_lines(const Store& store, std::int64_t run, std::ostream& out);

// One row an item, with columns for each rival that the run has.
Status export_table(const Store& store, std::int64_t run, std::ostream& out);

// One file an item, "0007_Relu_accepted.cpp", and index.csv, the table. The folder is made.
Result<int> export_kernels(const Store& store, std::int64_t run, const std::filesystem::path& folder);

struct Imported {
  std::int64_t run = 0;
  bool was_here = false;  // the same run is in the store already: nothing was changed
};

// Gives the next line, or false at the end.
using NextLine = std::function<Result<bool>(std::string& line)>;
NextLine lines_in(std::string text);

// More is not read of one line: the largest that kw writes is a task with its weights.
inline constexpr std::uint64_t kMostLineBytes = std::uint64_t{64} << 20;

// All of it or nothing. Errors name the line: "FILE:12: ...". What was read goes to the store at once, so that memory
// holds a line and not the file.
Result<Imported> import_json_lines(Store& store, const NextLine& next, const std::string& place);

}  // namespace kw::store
