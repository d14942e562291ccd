// How fast a kernel is over a range of lengths, and not only at the one that it was made for.
//
// A search sees a few sizes of the range; others, which it has not seen, say what the kernel is worth. Sizes are spread
// evenly by their logarithm: between 1 and 64 as many lie below 8 as above.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"

namespace kw::runs {

// Of one named length, both ends included.
struct OverRange {
  std::string name;
  std::int64_t low = 1, high = 1;
};
// "N=1..64", once for each length. An Error speaks of --over; so does one for a length that the task does not leave
// open.
Result<std::vector<OverRange>> parse_over(const std::vector<std::string>& texts);
Status check_over(const std::vector<OverRange>& over, const Task& task);

struct OverSize {
  Lengths lengths;  // of the ranges
  bool seen = false;
};
// Those that a search sees, the ends and the middle of all ranges at once, and up to six others, each length drawn for
// itself. In the order of the first range.
std::vector<OverSize> sizes_over(const std::vector<OverRange>& over, std::uint64_t seed = 1);
// "N=8 M=3"
std::string text_of_lengths(const Lengths& lengths);
// The task at one of them.
Task task_at(const Task& task, const OverSize& size);

struct TimedSize {
  OverSize size;
  Verdict verdict;
};
// Against one rival, over the sizes that were not seen: how many times as fast.
struct OverFigure {
  std::string rival;
  int sizes = 0;
  double median = 0, worst = 0;
  Lengths worst_at;
};
std::vector<OverFigure> figures_over(const std::vector<TimedSize>& sizes);

bool all_accepted(const std::vector<TimedSize>& sizes);
// A row for each size, and a line for each rival.
std::string over_as_text(const std::vector<TimedSize>& sizes);
Json over_as_json(const std::vector<OverRange>& over, const std::vector<TimedSize>& sizes);
// What `kw eval --over` prints: the table, or the verdict where the kernel was rejected; one object as JSON.
std::string answer_over(const Task& task, const std::vector<OverRange>& over, const std::vector<TimedSize>& sizes,
                        bool as_json);

}  // namespace kw::runs
