// What limits a large task on any core of today. Small ones live in caches, and calls and loops cost as much as they
// do.
#pragma once

#include "core/task.h"
#include "ops/graph.h"

namespace kw::report {

enum class Limit {
  none,        // not large
  arithmetic,  // products and convolutions of 50 Mflop and more
  memory,      // moves more than 32 MiB, and does little with it
};

Limit limit_of(const Task& task, const Cost& cost);

}  // namespace kw::report
