// The file of `kw eval --batch`: a JSON object a line, each a candidate to be judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/judge.h"
#include "store/records.h"

namespace kw::runs {

// A line of a batch: {"task": "Relu", "file": "relu.cpp"}, or "source" with the text in place of a file; "set":
// {"TILE": 8}, "id", which comes back with the verdict, "author", "notes", and "parents", the ids of earlier lines that
// it was made from, may be there.
struct BatchLine {
  std::int64_t number = 0;
  std::string id = "null";  // JSON
  std::string author;
  std::string notes;
  std::vector<std::string> parents;  // ids, as JSON
  std::string problem;               // why it cannot be judged
  std::optional<judge::Case> wanted;
};

// A batch may come from anybody, and what it reads lands in the record: its lines may name files below the batch's own
// folder and below `more_folders`, no others. `rules` hold for every line; the tasks that lines name are added to
// `tasks`, where their cases find them.
Result<std::vector<BatchLine>> parse_batch(const std::string& file, const judge::Case& rules,
                                           std::map<std::string, Task>& tasks,
                                           const std::vector<std::string>& more_folders = {});

// "a, b" of the suites that the lines' tasks come from.
std::string suites_of(const std::vector<BatchLine>& lines);

// What the record is to hold. A line whose parents are not known gets a problem.
std::vector<store::NewItem> items_of(std::vector<BatchLine>& lines, const std::string& author);

}  // namespace kw::runs
