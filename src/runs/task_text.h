// A task told to a reader, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "core/task.h"
#include "judge/judge.h"
#include "ops/graph.h"

namespace kw::runs {

// {"name", "category", "operator", "suite", "inputs", "outputs", "flops", "bytes"}; a tensor is {"name", "dtype",
// "shape"}, an input also has its "role": "input", "weight" or "constant".
Json summary_of(const Task& task, const ops::Graph& graph);

// A table with a row for each summary.
std::string summaries_as_text(const std::vector<Json>& rows);

// What a task's text may leave out.
struct TaskTextParts {
  bool example = true;  // the worked example
  bool advice = true;   // how a person finds out the least time where it is not known
};
// Meaning, tensors, tolerance, cost and a worked example on the smallest shape: what `kw show` prints.
Result<std::string> task_as_text(const Task& task, const std::string& device = targets::usual_device(),
                                 const TaskTextParts& parts = {});
// The same as one object: the keys of summary_of and nodes, meaning, lengths, opset, tolerance, precision,
// least_time_ns, note, degenerate, example.
Result<std::string> task_as_json(const Task& task, const std::string& device = targets::usual_device());

}  // namespace kw::runs
