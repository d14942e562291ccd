// Tasks and kernels to be judged in bulk, from a seed: tasks of the suites with other lengths and attributes and with
// further operators behind them, and for each the kernels that techniques make of it, with drawn values of their
// tunables. The same seed and the same suites and techniques give the same list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/task.h"
#include "judge/judge.h"
#include "store/records.h"
#include "suites/suite.h"

namespace kw::corpus {

// Draws tasks of one device's operators.
class TaskDraw {
 public:
  // `suites`: where tasks begin; those with a known weakness (Task::degenerate), and those that text_of cannot tell,
  // are left out. Operators of `only`, where there are any.
  static Result<TaskDraw> open(const std::vector<suites::Suite>& suites, const std::vector<std::string>& only = {});

  // A task that resolves, in its own shape and in hidden ones, and is neither tiny nor large. Its note says how it came
  // about. An Error where nothing like that was found in many tries.
  Result<Task> next(Random& random) const;

 private:
  std::vector<std::vector<Task>> starts_;  // by operator, so that each has the same chance
  std::vector<std::string> unary_;         // operators that may stand behind any tensor of floats
  std::vector<std::string> binary_;
};

struct DrawRules {
  std::string device = targets::usual_device();
  std::uint64_t seed = 1;
  std::size_t count = 200;             // of kernels
  std::size_t points = 2;              // of a kernel's tunables: the defaults, and others
  std::size_t longest = 6000;          // bytes of a source
  std::size_t holes = 0;               // of each kind, as further lines of a plan
  std::vector<std::string> only = {};  // operators to begin with; empty: all
};

struct DrawnKernel {
  std::size_t task = 0;  // of DrawnKernels::tasks
  std::string technique;
  std::string source;
};

struct DrawnKernels {
  std::vector<Task> tasks;
  std::vector<DrawnKernel> kernels;
  std::size_t too_long = 0;  // that were left out
};

Result<DrawnKernels> draw_kernels(const DrawRules& rules);

inline constexpr char kCorpusAuthor[] = "corpus";  // of drawn kernels, in the record
// As a run of the record has them: to be judged by these rules.
std::vector<store::NewItem> items_of(const DrawnKernels& drawn, const judge::Case& rules);

// A line for each kernel.
std::string text_of(const DrawnKernels& drawn);
// Likewise as JSON: prompt and answer as a line for supervised training has them (line.h), with the split of the same
// seed, but without verdicts. After each come its lines for infilling, where holes are asked for.
Result<std::string> json_lines_of(const DrawnKernels& drawn, const DrawRules& rules);

}  // namespace kw::corpus
