// Whether a task is small enough to be judged on this machine. Inputs are drawn and references computed here, in double
// precision, wherever the kernel runs: a task of a GPU's size would take all memory, or hours.
#pragma once

#include "base/result.h"
#include "core/task.h"
#include "ops/graph.h"

namespace kw::judge {

// Of one case in the task's own shape.
struct Burden {
  double memory_bytes = 0;
  double reference_s = 0;  // drawing, computing and comparing, roughly
};
Burden burden_of(const ops::Graph& graph);

struct Means {
  double memory_bytes = 0;
  double reference_s = 60;
};
// Two thirds of the memory that is free now.
Means means_of_this_machine();

// An Error of one line where it is too large, with the `--dim` that would make it fit.
Status check_affordable(const Task& task, const Means& means);

// Where it is too large: its longest lengths halved until a reference takes about half a second, and a name that ends
// in _small.
Task made_affordable(Task task, const Means& means);

}  // namespace kw::judge
