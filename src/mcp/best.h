// The best kernel of a task in the desk's record, with its source.
#pragma once

#include <string>

#include "base/result.h"
#include "core/task.h"
#include "runs/ranking.h"

namespace kw::mcp {

class Desk;

struct Best {
  runs::Ranking ranking;
  std::string source;
};

Result<Best> best_of(const Desk& desk, const Task& task);

}  // namespace kw::mcp
