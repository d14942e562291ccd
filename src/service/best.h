// The best kernel of a task in the desk's record, with its source.
#pragma once

#include <string>

#include "base/result.h"
#include "kernel/task.h"
#include "workbench/ranking.h"

namespace kw::service {

class Desk;

struct Best {
  workbench::Ranking ranking;
  std::string source;
};

Result<Best> best_of(const Desk& desk, const Task& task);

}  // namespace kw::service
