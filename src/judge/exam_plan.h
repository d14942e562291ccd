// Which cases a candidate is tried on: shapes, input classes, numbers of threads. Every examination draws new ones, so
// that a kernel cannot hold a table of the shapes that are tried.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "core/task.h"
#include "ops/op.h"

namespace kw::judge {

struct PlannedCase {
  Lengths lengths;
  ops::InputClass input_class = ops::InputClass::typical;
  bool thin = false;      // for a look at precision (precision.h)
  bool hidden = false;    // its author does not know the shape
  bool optional = false;  // left out where the cases before took long
  int threads = 1;
  std::uint64_t turn = 0;  // of wide ones (ops/draw.h)
};

// The task's own shape first: typical values, one of the harder classes whatever it costs, and the others while there
// is time. Then hidden shapes, which are many and mostly small; a third of them with typical values. Where the task
// leaves no length open, its own shape again and again.
std::vector<PlannedCase> plan_exam(const Task& task, int threads, Random& random);

// Many sets of inputs of one small shape side by side, each for one call: what values alone decide is tried so in a
// tenth of the time of cases of their own.
struct PlannedCrowd {
  struct Set {
    ops::InputClass input_class = ops::InputClass::typical;
    std::uint64_t turn = 0;
  };
  Lengths lengths;
  bool hidden = false;
  int threads = 1;
  std::vector<Set> sets;
};

// In shapes of `plan`; none where all of these cost too much. Turns go on where the plan's end.
std::vector<PlannedCrowd> plan_crowds(const Task& task, const std::vector<PlannedCase>& plan, Random& random);

}  // namespace kw::judge
