#include "core/task.h"

namespace kw {

std::string Task::operators() const {
  std::string result;
  for (const Node& node : nodes) result += (result.empty() ? "" : " + ") + node.op;
  return result;
}

}  // namespace kw
